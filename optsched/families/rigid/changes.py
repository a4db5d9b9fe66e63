"""What-if: changed machines, arrivals and jobs of an instance, for :func:`optsched.whatif`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optsched.families.rigid.instance import Machine, RigidInstance
from optsched.files.format import checked
from optsched.problem import InputError

MANY = 5  # names that a message lists


@dataclass(frozen=True)
class Changed:
    """The same jobs before and after a change, with the mean waiting time as objective."""

    before: RigidInstance
    after: RigidInstance
    kept: tuple[int, ...]  # of the jobs of the log, those of `before`
    same: tuple[int, ...]  # of the jobs of `before`, those of `after`
    unfit: str  # which jobs are left out of both; "": none


@dataclass(frozen=True)
class Changes:
    """What is different after a change."""

    machines: tuple[tuple[str, int, str], ...]  # (add or remove, number, type)
    load: Fraction
    without: tuple[tuple[str, str], ...]  # (user or partition, its name)

    @classmethod
    def of(
        cls,
        add: Iterable[str],
        remove: Iterable[str],
        scale_load: float | None,
        without: Iterable[str],
    ) -> Changes:
        """Read changes such as ``10xgpu``, 1.2 and ``partition=debug``.

        Raises
        ------
        InputError
            One is malformed or changes nothing, or there is none.
        """
        machines = []
        for verb, texts in (("add", add), ("remove", remove)):
            for text in texts:
                found = re.fullmatch(r"\s*(\d{1,9})\s*x\s*(.*\S)\s*", text)
                if found is None or int(found[1]) == 0:
                    raise InputError(
                        f"{verb} {text!r}: expected a number from 1 and a type, such as 10xgpu"
                    )
                machines.append((verb, int(found[1]), found[2]))
        labels = [tuple(text.split("=", 1)) for text in without]
        for text, parts in zip(without, labels, strict=True):
            if len(parts) != 2 or parts[0] not in ("user", "partition"):
                raise InputError(f"without {text!r}: expected user=NAME or partition=NAME")
        load = 1.0 if scale_load is None else scale_load
        if not 0 < load < math.inf or load == scale_load == 1:
            raise InputError(f"scale-load {scale_load}: expected a factor > 0 other than 1")
        if not machines and not labels and load == 1:
            raise InputError(
                "nothing is changed, expected --add, --remove, --scale-load or --without"
            )
        return cls(tuple(machines), Fraction(str(load)), tuple((a, b) for a, b in labels))

    @property
    def words(self) -> tuple[str, ...]:
        """Every change in a phrase."""
        done = {"add": "added", "remove": "removed"}
        found = [f"{n} {kind} {done[verb]}" for verb, n, kind in self.machines]
        found += [f"load scaled by {float(self.load):g}"] if self.load != 1 else []
        return (*found, *(f"without {label} {name}" for label, name in self.without))

    @property
    def what(self) -> str:
        """What a recorded schedule cannot be replayed on."""
        if self.machines:
            return "changed machines"
        return "changed arrivals" if self.load != 1 else "changed jobs"

    @property
    def direction(self) -> int:
        """-1 if the least waiting time cannot rise, 1 if it cannot fall, 0: who knows."""
        verbs = {verb for verb, _, _ in self.machines}
        if self.load != 1 or self.without or len(verbs) != 1:
            return 0
        return -1 if verbs == {"add"} else 1

    def must_be_found(self, instances: Sequence[RigidInstance]) -> None:
        """Refuse a user or a partition that no job has.

        Raises
        ------
        InputError
            Names those that there are.
        """
        for label, name in self.without:
            seen = Counter(getattr(job, label) for inst in instances for job in inst.jobs)
            if name not in seen:
                names = [n for n, _ in seen.most_common() if n]
                more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
                known = f"one of: {', '.join(names[:MANY])}{more}" if names else "none is recorded"
                raise InputError(f"without {label}={name}: no job has it, expected {known}")

    def apply(self, inst: RigidInstance, *, skip_unfit: bool) -> Changed:
        """Return both scenarios; ``skip_unfit`` leaves jobs that no longer fit out of both.

        Raises
        ------
        InputError
            An unknown type, more machines removed than there are, no machine or job left, or a job
            that no longer fits.
        """
        machines = self._machines(inst)
        platform = altered(inst, machines=machines, jobs=())
        stays = [not any(getattr(job, a) == b for a, b in self.without) for job in inst.jobs]
        unfit = [i for i, job in enumerate(inst.jobs) if stays[i] and not platform.fits(job)]
        told = ", ".join(
            f"job {i} ({inst.jobs[i].tasks} x {list(inst.jobs[i].need)})" for i in unfit[:MANY]
        )
        told += f" and {len(unfit) - MANY} more" if len(unfit) > MANY else ""
        if unfit and not skip_unfit:
            raise InputError(
                f"{len(unfit)} of {len(inst.jobs)} jobs no longer fit after the change: {told}; "
                "expected more machines, or --skip-unfit, which leaves them out of both scenarios"
            )
        kept = [i for i in range(len(inst.jobs)) if i not in set(unfit)]
        if not any(stays[i] for i in kept):
            raise InputError("no job is left after the change, expected at least one")
        jobs = [inst.jobs[i] for i in kept]
        first = min(job.arrival for job in jobs)
        moved = [
            job.model_copy(
                update={"arrival": first + math.floor((job.arrival - first) / self.load)}
            )
            for i, job in zip(kept, jobs, strict=True)
            if stays[i]
        ]
        before = altered(inst, objective="wait", jobs=jobs)
        return Changed(
            before=before,
            after=altered(before, machines=machines, jobs=moved),
            kept=tuple(kept),
            same=tuple(k for k, i in enumerate(kept) if stays[i]),
            unfit=f"{len(unfit)} jobs that no longer fit: {told}" if unfit else "",
        )

    def _machines(self, inst: RigidInstance) -> list[Machine]:
        """Return the machines after the change; of a pool, a type is one of its resources."""
        found = list(inst.machines)
        pool = not inst.packed and len(found) == 1 and found[0].count == 1
        for verb, n, kind in self.machines:
            sign, update = (n if verb == "add" else -n), dict[str, Any]()
            types = [m.name for m in found]
            unit = unit_named(inst, kind) if pool else None
            if kind in types:
                k = types.index(kind)
                have = found[k].count
                update = {"count": have + sign}
            elif unit is not None:
                k, (resource, per) = 0, unit
                units = list(found[0].capacity)
                have = units[resource] // per
                units[resource] += sign * per
                update = {"capacity": tuple(units)}
            else:
                names = inst.resources if pool else types
                raise InputError(
                    f"{verb} {n}x{kind}: there is no {kind!r}, expected one of: {', '.join(names)}"
                )
            if have + sign < 0:
                raise InputError(f"{verb} {n}x{kind}: there are {have}, expected at most that")
            found[k] = found[k].model_copy(update=update)
        if not any(m.count for m in found):
            raise InputError("no machine is left after the change, expected at least one")
        return [m for m in found if m.count]


def altered(inst: RigidInstance, **update: Any) -> RigidInstance:
    """Return an instance with other fields, checked."""
    fields = {name: getattr(inst, name) for name in RigidInstance.model_fields}
    return checked(RigidInstance, fields | update, "the changed instance")


def word_of(inst: RigidInstance, k: int) -> tuple[str, int]:
    """Return what one of a resource is called, and how many of its units that is."""
    word, _, parts = (inst.units[k] if inst.units else "").partition(" / ")
    return word or inst.resources[k], int(parts) if parts.isdigit() else 1


def unit_named(inst: RigidInstance, kind: str) -> tuple[int, int] | None:
    """Return which resource a type names, and how many of its units are one."""
    for k, name in enumerate(inst.resources):
        word, per = word_of(inst, k)
        names = {name, word} | ({"processor"} if name == "cpu" else set())
        if kind.lower().removesuffix("s") in {n.lower().removesuffix("s") for n in names}:
            return k, per
    return None


def units_of(inst: RigidInstance) -> dict[str, tuple[int, ...]]:
    """Return what one more of each kind adds to the capacity: of a resource, of a node type."""
    found = {}
    for k in range(len(inst.resources)):
        word, per = word_of(inst, k)
        found[word] = tuple(per if j == k else 0 for j in range(len(inst.resources)))
    if len(inst.machines) > 1 or inst.machines[0].count > 1:
        found |= {f"node {m.name}".strip(): m.capacity for m in inst.machines}
    return found
