"""Hunt for the worst instance of each policy of a list, and write down what was found.

    python benchmarks/worst_cases.py     (about 15 minutes)

A hunt's instance, optimum, proof and run are a result in results/hunts, which `optsched verify`
checks; its picture is next to it, and results/hunts/found.json states what each hunt requested and
found. A hunt that is there is not made again, one that was begun goes on. Evaluations are limited
by counted work: the instances found are the same on any machine. At the end the figures in
docs/worst-cases.md are written anew; its paragraphs are by hand.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from bench import RESULTS
from matplotlib.figure import Figure

from optsched.adversarial.evaluation import Terms
from optsched.adversarial.worst_case import checkpoint_path, find_worst_case
from optsched.core import Optimum, Ratio, Run
from optsched.drawing import COLOURS, HINDSIGHT, new_figure, save
from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.pictures import split
from optsched.files.atomic_io import write_whole
from optsched.files.format import instance_of, plain, read_json
from optsched.problem import Instance, family_of, get_family, option_name
from optsched.results.load import load_optimum
from optsched.results.result import part_of

FOLDER = RESULTS / "hunts"
FOUND = "found.json"
PAGE = RESULTS.parent.parent / "docs" / "worst-cases.md"
PICTURES = "../benchmarks/results/hunts"
EARNS = 0.01  # of all utility: a policy that does next to nothing means little


@dataclass(frozen=True)
class Case:
    """One hunt."""

    family: str
    policy: str
    preset: str
    sizes: dict[str, int] = field(default_factory=dict)
    evaluations: int = 300

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.family}-{self.policy}-{self.preset}"

    @property
    def terms(self) -> Terms:
        """What is hunted."""
        return Terms(
            family=self.family,
            policy=self.policy,
            preset=self.preset,
            sizes=self.sizes,
            earns=EARNS,
        )

    @property
    def command(self) -> str:
        """The same hunt by hand."""
        sizes = "".join(f" {option_name(size)} {n}" for size, n in self.sizes.items())
        return (
            f"optsched worst-case --family {self.family} --policy {self.policy} "
            f"--preset {self.preset}{sizes} --min-alg-fraction {EARNS} "
            f"--evaluations {self.evaluations} -o {self.name}.json"
        )


CASES = (
    Case("oasis", "oasis", "small", {"jobs": 4}),
    Case("oasis", "fifo", "small", {"jobs": 4}),
    Case("dmlrs", "pd-ors", "small", {"jobs": 4}),
    Case("dmlrs", "fifo", "small", {"jobs": 4}),
    Case("completion", "a_online", "small", {"jobs": 4}),
    Case("completion", "fifo", "small", {"jobs": 4}),
    Case("bipartite", "ogasched", "small", {"slots": 6}),
    Case("bipartite", "binpacking", "small", {"slots": 6}),
)


@dataclass(frozen=True)
class Stored:
    """A hunt's result, as it is read again."""

    instance: Instance
    optimum: Optimum
    run: Run

    @classmethod
    def read(cls, case: Case, folder: Path) -> Stored:
        """Read a result."""
        path = folder / f"{case.name}.json"
        content = read_json(path, "result")
        (run,) = content["runs"]
        return cls(
            instance_of(content, path),
            load_optimum(path),
            part_of(Run, {"run": run}, "run", path, case.family),
        )

    @property
    def ratio(self) -> Ratio:
        """The policy compared with the optimum."""
        family = get_family(self.instance.family)
        best = self.optimum
        assert best.value is not None  # a hunt stores nothing else
        return Ratio.of(family.sense, self.run.value, best.value, best.bound, self.run.guarantee)


def main(argv: Sequence[str] | None = None) -> None:
    """Make the hunts that are not there, and write the page's figures."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--folder", type=Path, default=FOLDER, help="of the results")
    p.add_argument("--page", type=Path, default=PAGE)
    options = p.parse_args(argv)
    options.folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        look(case, options.folder)
    write_whole(options.page, written(options.page.read_text(encoding="utf-8"), options.folder))
    print(f"{options.page} is written")


def look(case: Case, folder: Path) -> None:
    """Make a hunt, if it is not there, and draw what it found."""
    known = stored(folder)
    spec = {"terms": case.terms.model_dump(mode="json"), "evaluations": case.evaluations}
    there = known.get(case.name, {})
    if {name: there.get(name) for name in spec} == spec:
        return
    path = folder / f"{case.name}.json"
    found = find_worst_case(case.terms, evaluations=case.evaluations, path=path)
    print(f"{case.name}\n{found}", flush=True)
    if found.ended or found.report is None:
        raise SystemExit(f"{case.name}: was ended, or found nothing; the same command goes on")
    draw(case, folder)
    checkpoint_path(path).unlink()
    known[case.name] = found.summary()
    ordered = {each.name: known[each.name] for each in CASES if each.name in known}
    write_whole(folder / FOUND, json.dumps(plain(ordered), indent=1, allow_nan=False) + "\n")


def stored(folder: Path) -> dict[str, Any]:
    """Return what hunts have found, by name."""
    path = folder / FOUND
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def draw(case: Case, folder: Path) -> None:
    """Write the picture of the best schedule next to the policy's."""
    kept = Stored.read(case, folder)
    best = kept.optimum.schedule
    assert best is not None  # its value is known
    both = {HINDSIGHT: best, case.policy: kept.run.schedule}
    target = folder / f"{case.name}.png"
    if isinstance(kept.instance, BipartiteInstance):
        save(slot_by_slot(kept.instance, both), target)
        return
    pictures = family_of(kept.instance).pictures
    assert pictures is not None  # all families here draw schedules
    save(pictures(kept.instance, both)["schedules"], target)


def slot_by_slot(inst: BipartiteInstance, schedules: Mapping[str, Any]) -> Figure:
    """Draw gain and overhead of every slot, the best schedule next to the policy's."""
    figure = new_figure(9.0, 3.4)
    panels = figure.subplots(1, len(schedules), sharey=True)
    slots = np.arange(inst.horizon)
    for axis, (name, schedule) in zip(panels, schedules.items(), strict=True):
        parts = [
            split(inst, np.array(schedule.decisions[schedule.used[t]]), inst.jobs[t]) for t in slots
        ]
        gain, overhead = np.transpose(parts)
        axis.bar(slots - 0.2, gain, 0.4, color=COLOURS[0], label="gain")
        axis.bar(slots + 0.2, overhead, 0.4, color=COLOURS[1], label="overhead")
        axis.set_title(f"{name}: reward {gain.sum() - overhead.sum():.4g}", fontsize=10)
        axis.set_xlabel("slot")
        axis.set_xticks(slots)
    panels[0].set_ylabel("gain and overhead")
    panels[0].set_ylim(top=1.25 * panels[0].get_ylim()[1])  # the legend has room
    panels[-1].legend(fontsize=8, loc="upper right", ncols=2)
    return figure


def figures(case: Case, folder: Path) -> str:
    """Return what the page states of a hunt without words of its own."""
    kept, summary = Stored.read(case, folder), stored(folder)[case.name]
    ratio, best = kept.ratio, kept.optimum
    promised = ratio.guarantee
    value = f"{best.value:.6g}"
    if not best.status.closed:
        value += f", at most {best.bound:.6g}" if best.bound is not None else ", no bound"
    rows = [
        ("ratio", ratio.ends),
        ("theorem", "none" if promised is None else f"at most {promised:.4g} on this instance"),
        ("best schedule", f"{value} ({best.status})"),
        ("policy", f"{kept.run.value:.6g}"),
        (
            "of all utility",
            f"the best schedule reaches {summary['share']:.3g}, the policy {summary['earned']:.3g}",
        ),
        ("size", get_family(case.family).headline(kept.instance)),
    ]
    table = "\n".join(
        ["| what | found |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)]
    )
    alt = f"The best schedule next to that of {case.policy}: {case.name}"
    return (
        f"![{alt}]({PICTURES}/{case.name}.png)\n\n{table}\n\n"
        f"<!-- not run: some minutes -->\n\n```sh\n{case.command}\n```"
    )


def overview(folder: Path) -> str:
    """Return the table of all hunts."""
    lines = [
        "| family | policy | preset | jobs | ratio | theorem, for this instance |",
        "|---|---|---|---:|---:|---:|",
    ]
    for case in CASES:
        kept = Stored.read(case, folder)
        promised = kept.ratio.guarantee
        sizes = "".join(f", {n} {size}" for size, n in case.sizes.items())
        jobs = getattr(kept.instance, "jobs", None)
        count = len(jobs) if isinstance(jobs, tuple) else int(kept.instance.counts.sum())
        lines.append(
            f"| {case.family} | [{case.policy}](#{case.name}) | {case.preset}{sizes} | {count} | "
            f"{kept.ratio.ends} | {'none' if promised is None else f'{promised:.4g}'} |"
        )
    return "\n".join(lines)


def written(page: str, folder: Path) -> str:
    """Return the page with the figures of the stored results."""
    blocks = {"overview": overview(folder)}
    return replaced(page, blocks | {case.name: figures(case, folder) for case in CASES})


def replaced(page: str, blocks: Mapping[str, str]) -> str:
    """Return a page with other figures in the places that are named."""
    for name, text in blocks.items():
        begin, end = f"<!-- figures: {name} -->", "<!-- end of figures -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        made = f"{begin}\n\n{text}\n\n{end}"
        page, count = re.subn(pattern, lambda _m, made=made: made, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the page has {count} places for {name}, expected one")
    return page


if __name__ == "__main__":
    main()
