"""Reduction of the worst instance: jobs that do not matter are removed, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from optsched.adversarial.evaluation import Evaluator, WorstInstance
from optsched.numbers.parameter_space import Data, ParameterSpace, copied
from optsched.problem import PolicyError
from optsched.process import interrupts

LOSS = 0.01  # of the ratio, that a job must contribute to stay
EFFORT = 1000.0  # of the search for each optimum


def shrink(
    evaluator: Evaluator,
    space: ParameterSpace,
    worst: WorstInstance,
    callback: Callable[[str], None] | None = None,
) -> WorstInstance:
    """Leave out jobs until leaving out any one of the others loses a hundredth of the ratio.

    The entry whose removal raises the ratio most, or lowers it least, goes first. Other
    entries of the instance stay. The results so far are returned if an end is requested; at once
    an instance that no theorem allows.
    """
    if space.make is not None:  # an instance of a generator has no jobs that could be left out
        return worst
    best = _look(evaluator, space, worst.instance.model_dump(mode="json")) or worst
    while interrupts.received() is None:
        data = best.instance.model_dump(mode="json")
        if callback is not None:
            jobs = len(data[space.jobs.name])
            callback(f"shrinking {jobs} {space.jobs.name}, ratio at least {best.found.low:.4g}")
        looked = [_look(evaluator, space, smaller) for smaller in lighter(space, data)]
        excess = next((t for t in looked if t is not None and t.excess), None)
        if excess is not None:
            return excess
        made = [t for t in looked if t is not None and t.found.admitted(evaluator.terms)]
        found = max(made, key=lambda t: t.found.low, default=None)
        ended = interrupts.received() is not None
        if ended or found is None or found.found.low < (1 - LOSS) * best.found.low:
            break
        best = found
    return best


def lighter(space: ParameterSpace, data: Data) -> Iterator[Data]:
    """Yield the data without each job; where entries are slots, also without each whole slot."""
    part = space.jobs
    entries: list[Any] = data[part.name]
    for k, entry in enumerate(entries):
        if len(entries) > part.least:
            smaller = copied(data)
            del smaller[part.name][k]
            yield smaller
        if not part.numbers:
            continue
        for place, number in enumerate(entry):
            if number > 0:
                smaller = copied(data)
                smaller[part.name][k][place] -= 1
                yield smaller


def _look(evaluator: Evaluator, space: ParameterSpace, data: Data) -> WorstInstance | None:
    """Return the evaluation of an instance, with more work for its optimum than in the search."""
    settled = space.settle(data)
    if settled is None:
        return None
    try:
        instance = evaluator.family.instance.model_validate(settled)
        run = evaluator.terms.contender.play(instance, 0, code=True)
    except (ValidationError, PolicyError, KeyboardInterrupt):
        return None
    return evaluator.compared(instance, run, work_limit=EFFORT)
