"""The frontier: the largest number of jobs that closes, certified, in a minute and in ten.

    python benchmarks/frontier.py        (up to four hours; --seeds 1 takes a third of that)

Every family has a kind of instance that grows with its number of jobs. From few jobs on, each seed
climbs until two sizes one after the other do not close within the limit, or one does not in ten
minutes. What closes in the shorter limit need not be tried in the longer one. Closed means that the
certificate proves what the schedule reaches, relatively 1e-6: what is only claimed does not count.
The picture is stored next to the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from statistics import median

from bench import Benchmark, Row, Summary, finite, parse, parser
from matplotlib.figure import Figure
from render import number

from optsched.core import Optimum, solve
from optsched.drawing import COLOURS, GRID, headline, legend, new_figure, save
from optsched.problem import Instance, Status, get_family

LADDER = (
    *(2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 65, 80),
    *(100, 125, 160, 200, 250, 320, 400, 500, 650, 800, 1000),
)
MISSES = 2  # sizes one after the other that do not close: the end of a climb
WASTED = 600.0  # s without closing anything: its end as well
LIMITS = (60.0, 600.0)  # s
WARM = 60.0  # seconds at most to compile the kernels of a family
KINDS: Mapping[str, tuple[str, Callable[[int], Mapping[str, object]]]] = {
    "oasis": (
        "n jobs, n slots, 2n machines (half of them for parameter servers), preset paper",
        lambda n: {"preset": "paper", "jobs": n, "slots": n, "machines": 2 * n},
    ),
    "dmlrs": (
        "n jobs, n slots, n machines, preset contended",
        lambda n: {"preset": "contended", "jobs": n, "slots": n, "machines": n},
    ),
    "completion": (
        "n jobs, 2n slots, n / 2 + 1 servers, preset mid",
        lambda n: {"preset": "mid", "jobs": n, "slots": 2 * n, "machines": n // 2 + 1},
    ),
    "bipartite": (
        "n ports, 10n slots, 10n machines, preset paper; a job may come at each port in each slot",
        lambda n: {
            **{"preset": "paper", "density": float(min(n, 3))},
            **{"ports": n, "slots": 10 * n, "machines": 10 * n},
        },
    ),
    "bot": (
        "n applications, 5n nodes, preset heterogeneous",
        lambda n: {"preset": "heterogeneous", "applications": n, "nodes": 5 * n},
    ),
}


def draw(family: str, jobs: int, seed: int) -> Instance:
    """Return the instance of a size."""
    return get_family(family).generate(**KINDS[family][1](jobs), seed=seed)


def closes(found: Optimum) -> bool:
    """Whether a certificate proves that the schedule is the best."""
    return found.status is Status.OPTIMAL


def measure(cell: Row) -> Row:
    """Climb with one limit after the other, each time from the first size that has not closed."""
    climbs: list[Row] = []
    begin = LADDER[0]
    for limit in cell["limits"]:
        steps = climb(cell, limit, begin)
        largest = max(frontier(climb["steps"]) for climb in (*climbs, {"steps": steps}))
        missed = [step["size"] for step in steps if not step["closed"]]
        climbs.append(
            {
                **{"limit": limit, "frontier": largest},
                **{"ended": not steps[-1]["closed"], "steps": steps},
            }
        )
        if not missed:
            break
        begin = missed[0]
    return {"climbs": climbs}


def climb(cell: Row, limit: float, begin: int) -> list[Row]:
    """Return what was found of each size from ``begin`` on."""
    steps: list[Row] = []
    missed = 0
    for jobs in (n for n in LADDER if begin <= n <= cell["largest"]):
        inst = draw(cell["family"], jobs, cell["seed"])
        found = solve(inst, time_limit=limit, threads=cell["threads"])
        gap = finite(found.certified_gap)
        steps.append({"size": jobs, "closed": closes(found), "seconds": found.seconds, "gap": gap})
        missed = 0 if steps[-1]["closed"] else missed + 1
        if missed >= MISSES or missed * limit >= WASTED:
            break
    return steps


def frontier(steps: Sequence[Row]) -> int:
    """Return the largest size that closed; 0: none did."""
    return max((step["size"] for step in steps if step["closed"]), default=0)


def summarize(rows: list[Row]) -> Summary:
    """Return the frontier of every family and limit."""
    lines, figures = [], []
    limits = sorted({limit for row in rows for limit in row["limits"]})
    for family, limit in product(KINDS, limits):
        tried = [row for row in rows if row["family"] == family and limit in row["limits"]]
        mine = [reached(row, limit) for row in tried]
        if not mine:
            continue
        sizes = sorted(climb["frontier"] for climb in mine)
        # a climb that ends at the largest size that was tried may go on
        more = "" if all(climb["ended"] for climb in mine) else "at least "
        low, middle, high = sizes[0], median(sizes), sizes[-1]
        lines.append([family, number(limit, "g"), len(mine), f"{more}{middle:g}", low, high])
        figures.append({"family": family, "limit": limit, "sizes": sizes, "more": bool(more)})
    columns = ("family", "limit s", "instances", "jobs, median", "fewest", "most")
    return Summary(columns, lines, figures={"frontier": figures})


def reached(row: Row, limit: float) -> Row:
    """Return the climb with a limit; where a shorter one reached the largest size, that one."""
    climb: Row = [climb for climb in row["climbs"] if climb["limit"] <= limit][-1]
    return climb


def picture(groups: Sequence[Row]) -> Figure:
    """Draw the median of every family and limit as a mark, the range of the seeds as a line."""
    families = [name for name in KINDS if any(g["family"] == name for g in groups)]
    limits = sorted({g["limit"] for g in groups})
    figure = new_figure(7.2, 1.4 + 0.5 * len(families))
    axis = figure.subplots()
    for k, limit in enumerate(limits):
        mine = [g for g in groups if g["limit"] == limit]
        places = [families.index(g["family"]) + 0.18 * (k - (len(limits) - 1) / 2) for g in mine]
        middle = [max(1, median(g["sizes"])) for g in mine]
        ends = [(max(1, g["sizes"][0]), max(1, g["sizes"][-1])) for g in mine]
        colour, label = COLOURS[k % len(COLOURS)], f"{limit:g} s"
        axis.hlines(places, *zip(*ends, strict=True), color=colour, linewidth=2)
        axis.plot(middle, places, "o", color=colour, label=label)
        for g, x, y in zip(mine, middle, places, strict=True):
            text = f"{'≥ ' if g['more'] else ''}{median(g['sizes']):g}"
            axis.annotate(text, (x, y), (6, 3), textcoords="offset points", fontsize=8)
    axis.set_xscale("log")
    axis.margins(x=0.1)  # for the labels
    axis.set_yticks(range(len(families)), families)
    axis.set_ylim(len(families) - 0.5, -0.5)
    axis.set_xlabel("jobs (completion, dmlrs, oasis), ports (bipartite), applications (bot)")
    axis.grid(color=GRID, axis="x")
    axis.set_axisbelow(True)
    legend(figure, axis)
    headline(figure, "The largest instance that closes, certified: median and range of the seeds")
    return figure


BENCHMARK = Benchmark(
    name="frontier",
    title="The frontier of certified optima",
    question="How many jobs may an instance have so that its optimum is certified in time?",
    methods={
        "climb": 'solve(method="auto", seed=0, check="certified"), the check included; two sizes '
        "that do not close end it, or ten minutes without closing any",
        **{family: what for family, (what, _) in KINDS.items()},
    },
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure, store, draw."""
    p = parser(__doc__, seeds=3)
    p.add_argument("--families", nargs="+", default=list(KINDS), choices=list(KINDS))
    p.add_argument("--limits", nargs="+", type=float, default=list(LIMITS), help="seconds")
    p.add_argument("--largest", type=int, default=LADDER[-1], help="largest size that is tried")
    p.add_argument("--threads", type=int, default=1)
    options = parse(p, __file__, argv)
    for family in options.families:
        solve(draw(family, LADDER[0], 0), time_limit=min(WARM, max(options.limits)))
    cells = [
        {
            **{"family": family, "limits": sorted(options.limits), "seed": seed},
            **{"largest": options.largest, "threads": options.threads},
        }
        for family, seed in product(options.families, range(options.seeds))
    ]

    def keep(row: Row) -> bool:
        return row["family"] not in options.families  # the others stay as stored

    content = BENCHMARK.run(cells, measure, options, keep)
    save(picture(content["figures"]["frontier"]), options.results / "frontier.png")
    return content


if __name__ == "__main__":
    main()
