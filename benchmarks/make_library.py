"""Build the library in benchmarks/instances: drawn over a grid and from traces, solved, proved.

    python benchmarks/make_library.py --traces FOLDER

`library_draws.py` declares the grids. Work is counted, so that small entries repeat; larger ones
are ended by a clock too, and a slower machine may leave wider intervals. Every entry is kept as
soon as it is solved: the same command goes on where it was stopped. A pack is written when it is
full; `library.py` makes the tables.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from library_draws import SEEDS, Plan, plans

from optsched.core import Optimum, solve
from optsched.library.packs import SUFFIX, Pack, result_text
from optsched.problem import InputError, Instance, Status

FOLDER = Path(__file__).parent / "instances"
TRIES = {"small": SEEDS, "medium": 1, "large": 3}  # where an entry is not as it should be


def main(argv: Sequence[str] | None = None) -> None:
    """Build the packs that are requested."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--traces", type=Path, required=True, help="folder of the traces' folders")
    p.add_argument("--library", type=Path, default=FOLDER)
    p.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "optsched-library")
    p.add_argument("--packs", nargs="+", help="names, such as oasis/small-drawn; default: all")
    p.add_argument("--most", type=int, help="entries per pack, for a trial")
    options = p.parse_args(argv)
    options.work.mkdir(parents=True, exist_ok=True)
    for plan in plans():
        if options.packs is None or plan.name in options.packs:
            number = min(plan.entries, options.most or plan.entries)
            build(plan, number, options)


def build(plan: Plan, number: int, options: argparse.Namespace) -> None:
    """Build a pack, or what is missing of it."""
    target = options.library / f"{plan.name}{SUFFIX}"
    if target.exists():
        print(f"{plan.name}: is there", flush=True)
        return
    kept = options.work / f"{plan.name.replace('/', '-')}.jsonl"
    texts = _kept(kept)
    seen = {json.loads(text)["instance_sha256"] for text in texts}
    began, drawn = time.monotonic(), 0
    with kept.open("ab") as out:
        for entry in range(len(texts), number):
            for attempt in range(SEEDS):
                found = _try(plan, entry, attempt, options.traces, seen)
                if found is None:
                    drawn += 1
                    continue
                instance, optimum = found
                seen.add(optimum.instance_sha256)
                texts.append(result_text(instance, optimum))
                out.write(texts[-1])
                out.flush()
                break
            else:
                raise SystemExit(f"{plan.name}: entry {entry}: {SEEDS} seeds were not enough")
            if entry % 50 == 49 or plan.size != "small":
                spent = time.monotonic() - began
                gap = optimum.certified_gap
                print(
                    f"{plan.name}: {entry + 1} of {number}, {spent:.0f} s, {drawn} drawn again; "
                    f"gap {gap if gap is None else format(gap, '.2g')}, {len(texts[-1])} bytes",
                    flush=True,
                )
    target.parent.mkdir(parents=True, exist_ok=True)
    Pack(target).write(texts)
    print(f"{plan.name}: {target.stat().st_size} bytes", flush=True)


def _kept(path: Path) -> list[bytes]:
    """Return the entries of an earlier build, without one that was cut off."""
    if not path.exists():
        return []
    texts = [text for text in path.read_bytes().splitlines(keepends=True) if text.endswith(b"\n")]
    path.write_bytes(b"".join(texts))
    return texts


def _try(
    plan: Plan, entry: int, attempt: int, traces: Path, seen: set[str]
) -> tuple[Instance, Optimum] | None:
    """Solve an entry; None: it is drawn again.

    That is where there is no instance, the same one is there, nothing can be earned, or one that
    is small does not close (one that is large closes, in its first tries).
    """
    try:
        instance = plan.instance(entry, attempt, traces)
    except InputError:
        return None
    if instance.digest() in seen:
        return None
    optimum = solve(instance, work_limit=plan.effort, time_limit=plan.seconds)
    if not optimum.value or optimum.certified_gap is None:
        return None
    closed = optimum.status is Status.OPTIMAL
    if attempt < TRIES[plan.size] and closed != (plan.size != "large") and plan.size != "medium":
        return None
    return instance, optimum


if __name__ == "__main__":
    main()
