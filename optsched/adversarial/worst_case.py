"""Worst-case search: its checkpoint, and the reduction of the worst instance.

The checkpoint has the evaluated instances, so that a search resumes after any end. Jobs of the
worst instance that do not matter are removed, one by one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from optsched.adversarial.evaluation import (
    Evaluation,
    Evaluator,
    Terms,
    TheoremError,
    WorstInstance,
)
from optsched.adversarial.search import EvolutionarySearch
from optsched.core import EvaluatedPolicy, RatioReport, compare
from optsched.experiments.cell_keys import digest_of_policy
from optsched.files.format import checked, read_json, write_json
from optsched.files.provenance import all_versions
from optsched.numbers import settings
from optsched.numbers.parameter_space import Data, ParameterSpace, copied
from optsched.policies.loader import get_policy, known_or_refused
from optsched.problem import (
    Family,
    Frozen,
    InputError,
    Instance,
    Policy,
    PolicyError,
    family_or_problem,
)
from optsched.process import blas, interrupts, messages
from optsched.results.result import save_result

EVALUATIONS = 300
KIND = "hunt"  # of the checkpoint
KEY = 16  # digits of a digest
PERIOD = 5.0  # seconds between two times of writing
LOSS = 0.01  # of the ratio, that a job must contribute to stay
SHRINKING = 1000.0  # effort of the search for each optimum


@dataclass(frozen=True)
class WorstCase:
    """Result of a worst-case search."""

    terms: Terms
    evaluations: int
    failed: int  # evaluations in which the policy failed
    complaint: str  # of the first of them that was made now
    stated: int  # evaluations of the checkpoint, which were not made again
    ended: bool  # by Ctrl-C, before all was done
    worst: WorstInstance | None  # the worst instance; None: nothing counts
    when: int = 0  # the evaluation that has found it
    jobs: int = 0  # that it had before it was shrunk
    report: RatioReport | None = None  # the policy next to the closed optimum; None: it was ended

    @property
    def row(self) -> EvaluatedPolicy | None:
        """The policy's row in the report."""
        return None if self.report is None else self.report.policies[0]

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        found = self.worst
        row = self.row
        return {
            "family": self.terms.family,
            "policy": self.terms.policy,
            "terms": self.terms.model_dump(mode="json"),
            "evaluations": self.evaluations,
            "failed": self.failed,
            "stated": self.stated,
            "ended": self.ended,
            "evaluation": None if found is None else self.when,
            "instance_sha256": None if found is None else found.instance.digest(),
            "low": None if found is None else found.found.low,
            "share": None if found is None else found.found.share,
            "earned": None if found is None else found.found.earned,
            "jobs_before": self.jobs or None,
            "ratio": None if row is None else row.ratio.model_dump(mode="json"),
            "guarantee": None if row is None else row.ratio.guarantee,
            "known": None if row is None else [*row.known],
        }

    def lines(self) -> list[str]:
        """Return the result in words."""
        policy = self.terms.policy
        sizes = "".join(f" {name}={n}" for name, n in self.terms.sizes.items())
        space = f"{self.terms.family} {self.terms.preset}{sizes}"
        texts = [f"{self.evaluations} evaluations of {policy} in parameter space {space}"]
        if self.failed:
            failed = f"the policy failed in {self.failed} of them"
            texts += f"{failed}: {self.complaint}".removesuffix(": ").splitlines()
        if self.stated:
            texts.append(f"not checked: {self.stated} of them, which the checkpoint states")
        found, family = self.worst, family_or_problem(self.terms.family)
        if found is None:
            return [
                *texts,
                "no instance counts: all have an optimum or a policy that earns too little",
            ]
        row = self.row
        ratio = f"at least {found.found.low:.4g}" if row is None else str(row.ratio)
        size = family.headline(found.instance)
        texts.append(f"worst instance: ratio {ratio}, {size}, found by evaluation {self.when}")
        if family.sense == "max" and family.opening is not None:  # else there is no such sum
            texts.append(
                f"of all utility the best schedule reaches {found.found.share:.3g}, "
                f"the policy {found.found.earned:.3g}"
            )
        if row is not None and row.known:
            texts.append(f"{policy} knows {', '.join(row.known)}")
        if row is not None:
            promised = row.ratio.guarantee
            texts.append(
                "theory: nothing is proved of this policy on this instance"
                if promised is None
                else f"theory: at most {promised:.4g} on this instance"
            )
        return texts

    def __str__(self) -> str:
        return "\n".join(self.lines())


@interrupts.remembered()
def find_worst_case(
    terms: Terms,
    *,
    evaluations: int = EVALUATIONS,
    searches: int = 1,
    seed: int = 0,
    time_limit: float = 60.0,
    path: Path | str | None = None,
    callback: Callable[[str], None] | None = None,
) -> WorstCase:
    """Look for an instance on which a policy is much worse than the best with hindsight.

    Parameters
    ----------
    terms : optsched.adversarial.evaluation.Terms
        Family, policy and space, and which instances count.
    evaluations : int
        Of each search.
    searches, seed : int
        How many searches, and the seed of the first one.
    time_limit : float
        Seconds for the optimum of the instance that was found.
    path : path, optional
        The result file to be written. A checkpoint is written next to it, from which the same hunt,
        or one of more evaluations, goes on.
    callback : callable, optional
        Called with words that state how far it is.

    Returns
    -------
    WorstCase
        After Ctrl-C, the best so far.

    Raises
    ------
    InputError
        Unknown family, policy or preset, a family that declares no space, or another checkpoint.
    optsched.adversarial.evaluation.TheoremError
        A ratio exceeds the theoretical guarantee for its instance; that is in the file.
    """
    made = family_or_problem(terms.family)
    terms = _settled(made, terms)
    settings.whole(evaluations=evaluations, searches=searches)
    settings.whole(0, seed=seed)
    target = None if path is None else Path(path)
    checkpoint = Checkpoint(target and checkpoint_path(target), terms, all_versions())
    report_progress = callback or (lambda _text: None)
    assert made.parameter_space is not None  # it is among the terms that were settled
    search = _WorstCaseSearch(
        made, made.parameter_space(terms.preset, **terms.sizes), checkpoint, report_progress
    )
    try:
        with suppress(KeyboardInterrupt), blas.one_thread():
            for each in range(seed, seed + searches):
                search.search(each, evaluations, evaluations * searches)
    except TheoremError:
        if target is not None and search.best is not None:
            search.best.save(target)
        raise
    finally:
        checkpoint.write()
    return search.finished(target, time_limit)


class _WorstCaseSearch:
    """Searches of one hunt, one after the other, and the worst instance so far."""

    def __init__(
        self,
        family: Family,
        space: ParameterSpace,
        checkpoint: Checkpoint,
        report_progress: Callable[[str], None],
    ) -> None:
        self.space, self.report_progress = space, report_progress
        self.evaluator, self.checkpoint = Evaluator(family, checkpoint.terms), checkpoint
        self.best: WorstInstance | None = None
        self.done = self.when = 0
        self._stated = set(checkpoint.rows)  # keys
        self._seen: dict[str, Evaluation] = {}
        self._low = -math.inf  # of the worst instance
        self._worst: Instance | None = None
        self._evaluated: Instance | None = None

    def _evaluate(self, instance: Instance, _data: object) -> Evaluation:
        """Return an evaluation that is known, or make it."""
        self._evaluated, self.evaluator.last = instance, None
        key = instance.digest()[:KEY]
        found = self.checkpoint.rows.get(key) or self.evaluator(instance)
        interrupts.raise_if_interrupted()  # an evaluation cut short by a signal does not count
        self.checkpoint.add({key: found})
        self._seen[key] = found
        return found

    def search(self, seed: int, evaluations: int, whole: int) -> None:
        """Search with a seed.

        Raises
        ------
        TheoremError
            A ratio exceeds the theoretical guarantee for its instance.
        """
        search = EvolutionarySearch(
            self.evaluator.family, self.space, self.checkpoint.terms, seed, self._evaluate
        )
        for _ in islice(search.steps(), evaluations):
            self.done += 1
            last, better = self.evaluator.last, search.best
            if last is not None and last.excess:
                self.best = last
                raise TheoremError(last.excess)
            if better is not None and better.found.low > self._low:
                self._low, self.when = better.found.low, search.count
                self.best, self._worst = last, self._evaluated
            known = " by the checkpoint" if self.best is None else ""
            best = "none counts yet"
            if self._worst is not None:
                best = f"ratio at least {self._low:.4g}{known}"
            self.report_progress(f"evaluation {self.done} of {whole}, {best}")

    def finished(self, target: Path | None, time_limit: float) -> WorstCase:
        """Shrink the instance, close it, and save it."""
        terms = self.checkpoint.terms
        failed = {key: row.failed for key, row in self._seen.items() if row.failed}
        shared: dict[str, Any] = {
            "terms": terms,
            "evaluations": self.done,
            "failed": len(failed),
            "complaint": next((why for key, why in failed.items() if key not in self._stated), ""),
            "stated": len(self._stated & self._seen.keys()),
            "when": self.when,
        }
        if self.best is None and self._worst is not None:  # its schedules are not known any more
            self.evaluator(self._worst)
            self.best = self.evaluator.last
            low = 1.0 if self.best is None else self.best.found.low
            if not math.isclose(low, self._low):
                messages.notify(
                    f"{self.checkpoint.path}: states ratio {self._low:.4g} of an instance that has "
                    f"{low:.4g}, expected the same one; to search again, remove the file"
                )
        best = self.best
        if best is None:
            return WorstCase(**shared, ended=interrupts.received() is not None, worst=None)
        if target is not None:
            best.save(target)
        shared["jobs"] = len(getattr(best.instance, self.space.jobs.name, ()))
        report = None
        with suppress(KeyboardInterrupt):
            interrupts.raise_if_interrupted()
            best = shrink(self.evaluator, self.space, best, self.report_progress)
            self.report_progress("looking for the optimum of the worst instance")
            if target is not None:
                best.save(target)
            if best.excess:
                raise TheoremError(best.excess)
            chosen: str | Policy = terms.policy
            if terms.parameters:
                chosen = get_policy(self.evaluator.family, terms.policy, **terms.parameters)
            report = compare(
                best.instance,
                [chosen],
                start=best.optimum,
                sandbox=terms.sealed,
                decision_limit=terms.decision_limit,
                time_limit=time_limit,
            )
            if target is not None:
                save_result(target, best.instance, report.optimum, report.runs, report.references)
        return WorstCase(
            **shared, ended=interrupts.received() is not None, worst=best, report=report
        )


def checkpoint_path(target: Path) -> Path:
    """Return the checkpoint of a result: a new one, or one that has the name of earlier versions.

    >>> checkpoint_path(Path("found/worst.json")).name
    'worst.checkpoint.json'
    """
    stem = target.name.removesuffix(".json")
    older = target.with_name(f"{stem}.hunt.json")
    return older if older.exists() else target.with_name(f"{stem}.checkpoint.json")


def _settled(family: Family, terms: Terms) -> Terms:
    """Return the terms with the digest of an own policy; refuse what the family does not have."""
    if family.parameter_space is None:
        raise InputError(
            f"worst-case search does not support family {family.name}, which has no parameter space"
        )
    settings.one_of("preset", terms.preset, family.presets)
    for name in terms.sizes:
        settings.one_of("size", name, family.sizes)
    known_or_refused(family, terms.policy)
    return terms.model_copy(update={"policy_sha256": digest_of_policy(terms.policy)})


class _Content(Frozen):
    """Content of the checkpoint file."""

    terms: Terms
    versions: dict[str, str] = Field(description="of what can change a number")
    rows: dict[str, Evaluation] = Field(description="by the beginning of the instance's digest")


class Checkpoint:
    """Evaluations by instance; ``path`` None: they are in memory alone."""

    def __init__(self, path: Path | None, terms: Terms, versions: Mapping[str, str]) -> None:
        self.path, self.terms = path, terms
        self.rows: dict[str, Evaluation] = {}
        self._versions = dict(versions)
        self._written, self._when = 0, time.monotonic()
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        """Continue from the existing file, unless it is of another hunt, or of other code."""
        content = read_json(path, KIND)
        stored = {name: content[name] for name in _Content.model_fields if name in content}
        known = checked(_Content, stored, str(path))
        for what, mine, theirs in (
            ("hunt", self.terms, known.terms),
            ("version", self._versions, known.versions),
        ):
            if mine != theirs:
                raise InputError(
                    f"{path}: is of another {what} ({_difference(theirs, mine)}), expected the "
                    "same one, or another output"
                )
        self.rows = dict(known.rows)
        self._written = len(self.rows)

    def add(self, rows: Mapping[str, Evaluation]) -> None:
        """Add an evaluation, and write the file if it is time."""
        self.rows.update(rows)
        if time.monotonic() - self._when >= PERIOD:
            self.write()

    def write(self) -> None:
        """Write all, if there is anything new."""
        if self.path is None or len(self.rows) == self._written:
            return
        rows = {  # a file has texts of one line
            key: row.model_copy(update={"failed": row.failed.partition("\n")[0]})
            for key, row in self.rows.items()
        }
        content: dict[str, Any] = {
            "terms": self.terms.model_dump(mode="json"),
            "versions": self._versions,
            "rows": {k: r.model_dump(mode="json", exclude_defaults=True) for k, r in rows.items()},
        }
        write_json(self.path, KIND, self.terms.family, content)
        self._written, self._when = len(self.rows), time.monotonic()


def _difference(theirs: Any, mine: Any) -> str:
    one, other = (x if isinstance(x, dict) else x.model_dump() for x in (theirs, mine))
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            return f"{name:.60}: {one.get(name)!r:.60} there, {other.get(name)!r:.60} here"
    return "it differs"


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
    return evaluator.compared(instance, run, work_limit=SHRINKING)
