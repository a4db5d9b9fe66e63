"""What keeps the words of a picture from being read: cut off, over one another, or too pale."""

from functools import lru_cache
from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.table import Table
from matplotlib.text import Text

CONTRAST = 4.5  # of WCAG 2 for small print
GAP = 0.2  # heights of words, at least, between two of one line


class WithoutWords(RendererAgg):
    """Draws everything but words, of which it keeps a list."""

    def __init__(self, figure):
        super().__init__(figure.bbox.width, figure.bbox.height, figure.dpi)
        self.words = []

    def draw_text(self, _gc, _x, _y, s, *_, mtext=None, **_more):
        if s.strip() and mtext is not None:  # None: one of several lines
            self.words.append(mtext)


def words(figure):
    """Return the words that are drawn."""
    return [text.get_text() for text in drawn(figure).words]


@lru_cache(maxsize=1)  # it takes a while, and more than one thing is requested of a picture
def drawn(figure):
    FigureCanvasAgg(figure)
    renderer = WithoutWords(figure)
    figure.draw(renderer)
    texts = figure.findobj(Text) + [cell.get_text() for cell in cells_of(figure)]
    renderer.words += [t for t in texts if "\n" in t.get_text() and t.get_visible()]
    return renderer


def cells_of(figure):
    """Return the cells of all tables."""
    return [c for table in figure.findobj(Table) for c in table.get_celld().values()]


def faults(figure):
    """Return a line for every fault of a figure; none where all words can be read."""
    renderer = drawn(figure)
    pixels = np.asarray(renderer.buffer_rgba())[::-1, :, :3]  # from below, as the boxes
    height, width = pixels.shape[:2]
    boxes, found = [], []
    for text in renderer.words:
        box = text.get_window_extent(renderer)
        said = f"{text.get_text()!r} at {box.x0:.0f}, {box.y0:.0f}"
        boxes.append((box, said, text.get_rotation()))
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            found.append(f"{said} is cut off")
            continue
        low = np.maximum((int(box.y0), int(box.x0)), 0)
        behind = pixels[low[0] : int(box.y1) + 1, low[1] : int(box.x1) + 1].reshape(-1, 3)
        against = np.quantile(contrasts(to_rgb(text.get_color()), behind / 255.0), 0.2)
        if against < CONTRAST:
            found.append(f"{said} has a contrast of {against:.1f}")
    for (one, first, turned), (other, second, also) in combinations(boxes, 2):
        wide = min(one.x1, other.x1) - max(one.x0, other.x0)
        high = min(one.y1, other.y1) - max(one.y0, other.y0)
        room = 0.2 * min(one.height, other.height, one.width, other.width)  # boxes are generous
        if wide > room and high > room:
            found.append(f"{first} lies over {second}")
        elif (  # on one line
            -wide < GAP * min(one.height, other.height)
            and high > 0.5 * one.height
            and turned == also == 0
        ):
            found.append(f"{first} touches {second}")
    for cell in cells_of(figure):
        box, text = cell.get_window_extent(renderer), cell.get_text().get_window_extent(renderer)
        if text.x0 < box.x0 - 1 or text.x1 > box.x1 + 1:
            found.append(f"{cell.get_text().get_text()!r} is wider than its cell")
    return found


def contrasts(colour, behind):
    """Return the contrast of a colour with each of others, shape (n, 3)."""
    one, others = luminance(np.array([colour])), luminance(behind)
    return (np.maximum(one, others) + 0.05) / (np.minimum(one, others) + 0.05)


def luminance(colours):
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])
