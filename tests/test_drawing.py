"""Colours, names and legends of all pictures; and that unreadable words are noticed."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from eyes import EYES, lab
from legible import CONTRAST, contrasts, faults, words
from matplotlib.colors import to_rgb

from optsched.drawing import (
    COLOURS,
    CURVES,
    HINDSIGHT,
    LONGEST,
    OTHERS,
    colours_of,
    contrast,
    curve_labels,
    ink,
    legend,
    new_figure,
    save,
    shorts,
    styled,
)
from optsched.families.bipartite.pictures import reward_curves


@pytest.mark.parametrize("eyes", EYES)
def test_curves_can_be_told_apart_by_all_eyes(eyes):
    colours = lab([*CURVES, COLOURS[-1]], EYES[eyes])
    assert min(np.linalg.norm(a - b) for a, b in combinations(colours, 2)) > 25
    pair = lab(COLOURS[:2], EYES[eyes])
    assert np.linalg.norm(pair[0] - pair[1]) > 25


def test_curves_stand_out_against_white():
    assert min(contrast(colour, "white") for colour in CURVES) > 2
    for colour in (*CURVES, *COLOURS):
        assert contrast(ink(colour), colour) >= CONTRAST
        assert contrast(ink(colour), colour) == pytest.approx(
            contrasts(to_rgb(ink(colour)), np.array([to_rgb(colour)]))[0]
        )


def test_no_two_curves_have_one_colour():
    names = [HINDSIGHT, *(f"policy {k}" for k in range(10))]
    colours = colours_of(names)
    assert len(set(colours.values())) == len(names)
    assert colours[HINDSIGHT] == COLOURS[-1]
    assert OTHERS not in colours.values()
    assert list(curve_labels(names).values()) == names


def test_more_than_ten_curves_are_others():
    names = [HINDSIGHT, *(f"policy {k}" for k in range(13))]
    figure = reward_curves({name: np.arange(5) + k for k, name in enumerate(names)})
    for axis in figure.axes:
        grey = [line for line in axis.lines if line.get_color() == OTHERS]
        assert len(grey) == 3
        assert len({line.get_color() for line in axis.lines}) == 12
        assert max(line.get_zorder() for line in grey) < min(
            line.get_zorder() for line in axis.lines if line not in grey
        )
    said = words(figure)
    assert said.count("3 others") == 1
    assert set(names[:11]) <= set(said)
    assert not set(names[11:]) & set(said)
    assert faults(figure) == []


def test_names_are_cut_in_the_middle_and_stay_different():
    names = ["short", "a" * 99, "a" * 98, "a" * LONGEST, "x" * 40 + "1", "x" * 40 + "2", "a\tb"]
    drawn = shorts(names)
    assert drawn["short"] == "short"
    assert drawn["a" * LONGEST] == "a" * LONGEST
    assert drawn["a\tb"] == "a b"
    assert len(set(drawn.values())) == len(names)
    assert max(map(len, drawn.values())) <= LONGEST + len(" (2)")


@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_are_no_formulas_and_none_is_missing_in_a_legend(tmp_path):
    names = ["_private", "$x$", "a$b$c$", "$\\nonsense{$", "名前"]
    figure = reward_curves({name: np.arange(5) + k for k, name in enumerate(names)})
    assert [text.get_text().strip() for text in figure.legends[0].get_texts()] == [
        "_private", r"\$x\$", r"a\$b\$c\$", r"\$\nonsense{\$", "名前",
    ]  # fmt: skip
    assert set(names) <= {w.strip().replace(r"\$", "$") for w in words(figure)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no complaint about the font either
        save(figure, tmp_path / "names.png")


def test_a_legend_has_as_many_columns_as_there_is_room_for():
    figure = new_figure(5, 3)
    axis = figure.subplots()
    for k in range(10):
        axis.plot([0, 1], [k, k], label=f"a policy with a long name {k}")
    legend(figure, axis)
    assert faults(figure) == []


def test_labels_are_folded_to_the_length_of_their_axis():
    figure = new_figure(6, 2)
    axis, other = figure.subplots(1, 2)
    axis.set_ylabel("rate / fastest of all rates (mean, 95 % interval)")
    axis.set_title("all that there is to state of the panel on the left")
    other.set_title("short")
    assert faults(figure) == []
    assert "\n" in axis.get_title()
    lines = axis.get_ylabel().split("\n")
    assert len(lines) > 1
    assert not any(line.startswith(("%", "/")) or line.endswith("/") for line in lines)
    assert other.get_title() == "short"


@pytest.mark.parametrize(
    ("names", "drawn", "degrees"),
    [
        (["one", "two"], ["one", "two"], 0),
        (["one of these"] * 9, ["one\nof\nthese"] * 9, 0),
        (["BinPacking"] * 9, ["BinPacking"] * 9, 90),
    ],
)
def test_names_at_ticks_do_not_run_into_one_another(names, drawn, degrees):
    figure = new_figure(5, 3)
    axis = figure.subplots()
    axis.set_xticks(range(len(names)), names)
    assert faults(figure) == []
    shown = axis.get_xticklabels()
    assert [name.get_text() for name in shown] == drawn
    assert {name.get_rotation() for name in shown} == {degrees}


def test_a_long_legend_leaves_the_panel_its_height_on_paper():
    heights = []
    for entries in (1, 9):
        with styled("paper"):
            figure = new_figure(6, 4)
            axis = figure.subplots()
            for k in range(entries):
                axis.plot([0, 1], [k, k], label=f"a policy with quite a long name, {k}")
            legend(figure, axis)
        assert faults(figure) == []
        heights.append(axis.get_window_extent().height)
    assert heights[1] > 0.9 * heights[0]


@pytest.mark.parametrize(
    ("place", "look", "fault"),
    [
        ((0.5, 0.8), {"color": "white"}, "has a contrast of 1.0"),
        ((0.5, 0.8), {"color": "#BBBBBB"}, "has a contrast of 1.9"),
        ((0.97, 0.8), {}, "is cut off"),
        ((0.5, 0.2), {}, "lies over"),
        ((0.29, 0.2), {}, "touches"),
        ((0.5, 0.8), {}, None),
    ],
)
def test_unreadable_words_are_noticed(place, look, fault):
    figure = new_figure(4, 3)
    figure.text(0.5, 0.2, "some words")
    figure.text(*place, "other words", **look)
    found = faults(figure)
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]
