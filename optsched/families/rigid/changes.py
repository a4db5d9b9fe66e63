"""What-if: changed machines, arrivals and jobs of an instance, for :func:`optsched.whatif`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from optsched.families.rigid.facts import are_pools
from optsched.families.rigid.instance import LATEST, Machine, RigidInstance
from optsched.files.format import checked
from optsched.problem import InputError

MANY = 5  # names that a message lists
NODE = "node of type "  # before the name of a type
MALFORMED = "expected a number from 1 and a type, such as 10xgpu"
ALIASES = {"processor": "cpu", "processors": "cpu"}


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
    """Differences after a change."""

    machines: tuple[tuple[str, int, str], ...]  # (add or remove, number, type); 0: a named node
    load: Fraction
    without: tuple[tuple[str, str], ...]  # (user or partition, its name)
    told: tuple[str, ...] = ()  # number and type of each of the machines, in words

    @classmethod
    def of(
        cls,
        add: Iterable[str],
        remove: Iterable[str],
        scale_load: float | None,
        without: Iterable[str],
    ) -> Changes:
        """Read changes such as ``10xgpu`` or ``node07``, 1.2 and ``partition=debug``.

        Raises
        ------
        InputError
            One is malformed or changes nothing.
        """
        machines = []
        for verb, texts in (("add", add), ("remove", remove)):
            for text in texts:
                found = re.fullmatch(r"\s*(\d{1,9})\s*x\s*(.*\S)\s*", text)
                if found is not None and int(found[1]):
                    machines.append((verb, int(found[1]), found[2]))
                elif found is None and verb == "remove" and text.strip():
                    machines.append((verb, 0, text.strip()))
                else:
                    raise InputError(f"{_typed(verb, text)}: {MALFORMED}")
        labels = [tuple(text.split("=", 1)) for text in without]
        for text, parts in zip(without, labels, strict=True):
            if len(parts) != 2 or parts[0] not in ("user", "partition"):
                raise InputError(f"{_typed('without', text)}: expected user=NAME or partition=NAME")
        load = 1.0 if scale_load is None else scale_load
        if not 0 < load < math.inf or load == scale_load == 1:
            raise InputError(f"--scale-load {scale_load}: expected a factor > 0 other than 1")
        return cls(tuple(machines), Fraction(str(load)), tuple((a, b) for a, b in labels))

    @property
    def words(self) -> tuple[str, ...]:
        """Every change in a phrase."""
        done = {"add": "added", "remove": "removed"}
        told = self.told or [f"{n} {kind}" for _, n, kind in self.machines]
        found = [f"{x} {done[m[0]]}" for x, m in zip(told, self.machines, strict=True)]
        found += [f"load scaled by {float(self.load):g}"] if self.load != 1 else []
        gone = (f"{label} {name.removeprefix(f'{label} ')}" for label, name in self.without)
        return (*found, *(f"jobs of {one} removed" for one in gone))

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
                known = f"expected one of: {', '.join(names[:MANY])}{more}"
                known = known if names else f"the log names no {label}"
                raise InputError(f"{_typed('without', f'{label}={name}')}: no job has it, {known}")

    def on(self, inst: RigidInstance, nodes: Mapping[str, str] = MappingProxyType({})) -> Changes:
        """Return the changes with names of types or resources that the machines have.

        Units of a resource that nodes of one type have become whole nodes, rounded up; so
        ``10xgpu`` is 3 nodes of 4 GPUs. Additions and removals of a type are offset. ``nodes`` are
        types by the names of nodes.

        Raises
        ------
        InputError
            A name is unknown or ambiguous, or nothing is changed.
        """
        more, asked = Counter[str](), dict[str, tuple[str, int]]()
        gone: dict[str, list[str]] = {}  # by type, nodes that are named
        for verb, n, kind in self.machines:
            number, name = _node(verb, n, kind, nodes) or _named(inst, verb, n, kind, nodes)
            more[name] += number if verb == "add" else -number
            asked[name] = name if kind in nodes else kind, n if name not in asked else 0
            if kind in nodes and verb == "remove" and n <= 1:
                if kind in gone.setdefault(name, []):
                    raise InputError(f"--remove {kind}: is named twice, expected once")
                gone[name].append(kind)
        left = [("add" if n > 0 else "remove", abs(n), name) for name, n in more.items() if n]
        if self.machines and not left and self.load == 1 and not self.without:
            raise InputError(f"{', '.join(self.words)}: changes nothing, expected a difference")
        told = tuple(
            _told(inst, n, name, *asked[name])
            + (f" ({', '.join(gone[name])})" if name in gone else "")
            for _, n, name in left
        )
        return replace(self, machines=tuple(left), told=told)

    def caps(self, inst: RigidInstance) -> list[str]:
        """Return a warning where other resources of a pool may make an addition useless."""
        if not are_pools(inst):
            return []
        found = []
        for n, kind in ((n, kind) for verb, n, kind in self.machines if verb == "add"):
            k = inst.resources.index(kind)
            further = {
                name
                for job in inst.jobs
                if job.need[k]
                for name, d in zip(inst.resources, job.need, strict=True)
                if d and name != kind
            }
            if further:
                found.append(
                    f"warning: {n}x{kind}: the jobs that use it also need "
                    f"{', '.join(sorted(further))}, which is not added, so the effect may be small "
                    "or none; with a list of machines (--machines), whole nodes are added"
                )
        return found

    def apply(
        self,
        inst: RigidInstance,
        *,
        skip_unfit: bool,
        names: Sequence[str] = (),
        placed: RigidInstance | None = None,
    ) -> Changed:
        """Return both scenarios; ``skip_unfit`` leaves jobs that no longer fit out of both.

        ``names`` are those of the jobs, with their submission; ``placed`` has the same jobs on
        nodes, on which they must fit too.

        Raises
        ------
        InputError
            An unknown type, more machines removed than there are, no machine or job left, or a job
            that no longer fits.
        """
        machines = self._machines(inst)
        stays = [not any(getattr(job, a) == b for a, b in self.without) for job in inst.jobs]
        models = [one for one in (inst, placed) if one is not None]
        rooms = [altered(one, machines=self._machines(one), jobs=()) for one in models]
        fits = [
            all(room.fits(one.jobs[i]) for room, one in zip(rooms, models, strict=True))
            for i in range(len(inst.jobs))
        ]
        unfit = [i for i, stay in enumerate(stays) if stay and not fits[i]]
        named = names or [f"job {i} ({_submitted(inst, i)}" for i in range(len(inst.jobs))]
        told = ", ".join(
            f"{named[i]}{models[-1].requested(models[-1].jobs[i])})" for i in unfit[:MANY]
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
        last = max((job.arrival for job in moved), default=0)
        if last > LATEST:
            raise InputError(
                f"--scale-load {float(self.load):g}: the last job would arrive in second {last}, "
                f"expected at most {LATEST}"
            )
        before = altered(inst, objective="wait", jobs=jobs)
        return Changed(
            before=before,
            after=altered(before, machines=machines, jobs=moved),
            kept=tuple(kept),
            same=tuple(k for k, i in enumerate(kept) if stays[i]),
            unfit=f"{len(unfit)} jobs that no longer fit: {told}" if unfit else "",
        )

    def _machines(self, inst: RigidInstance) -> list[Machine]:
        """Return the machines after the change; of pools, a type is one of their resources."""
        pools = are_pools(inst)
        units = [inst.unit_of(k)[1] for k in range(len(inst.resources))]
        if pools:
            names = [*inst.resources]
            counts = [c // unit for c, unit in zip(inst.total, units, strict=True)]
        else:
            names, counts = [m.name for m in inst.machines], [m.count for m in inst.machines]
        there = list(counts)
        for verb, n, kind in self.machines:
            k = names.index(kind)
            if verb == "remove" and n > counts[k]:
                raise InputError(
                    f"{_option(verb, n, kind)}: there are {counts[k]}, expected at most that"
                )
            counts[k] += n if verb == "add" else -n
        if pools:
            more = [(b - a) * u for a, b, u in zip(there, counts, units, strict=True)]
            whole = zip(*(m.capacity for m in inst.machines), strict=True)
            first = [next((h for h, c in enumerate(column) if c), 0) for column in whole]
            pool = [
                tuple(c + more[k] * (first[k] == h) for k, c in enumerate(m.capacity))
                for h, m in enumerate(inst.machines)
            ]
            return [
                m.model_copy(update={"capacity": capacity})
                for m, capacity in zip(inst.machines, pool, strict=True)
            ]
        found = [
            m.model_copy(update={"count": n})
            for m, n in zip(inst.machines, counts, strict=True)
            if n
        ]
        if not found:
            raise InputError("no machine is left after the change, expected at least one")
        return found


def _option(verb: str, n: int, kind: str) -> str:
    """Return an addition or removal as an option of the command line."""
    return _typed(verb, f"{n}x{kind}")


def _typed(option: str, text: str) -> str:
    return f"--{option} {text}" if text and " " not in text else f'--{option} "{text}"'


def _resources(inst: RigidInstance) -> dict[str, dict[int, int]]:
    """Return how many units of which resources one is, by the names of `Changes`."""
    found: dict[str, dict[int, int]] = {}
    for k, resource in enumerate(inst.resources):
        base, of, part = resource.partition(" of ")
        base, units = ("memory_gb", 1024) if base == "memory_mb" else (base, inst.unit_of(k)[1])
        for name in (base, base + of + part):
            found.setdefault(name, {})[k] = units
    return found


def _node(verb: str, n: int, kind: str, nodes: Mapping[str, str]) -> tuple[int, str] | None:
    """Return one node, or several like it, and its type; None: nodes have no such name."""
    if kind not in nodes:
        if n == 0:
            known = f", or the name of a node, such as {next(iter(nodes))}" if nodes else ""
            raise InputError(f"{_typed(verb, kind)}: {MALFORMED}{known}")
        return None
    if verb == "remove" and n > 1 and kind != nodes[kind]:
        raise InputError(
            f"{_option(verb, n, kind)}: is one node, expected {_option(verb, 1, kind)}"
        )
    return max(1, n), nodes[kind]


def _named(
    inst: RigidInstance, verb: str, n: int, kind: str, nodes: Mapping[str, str]
) -> tuple[int, str]:
    """Return how many of which type of node or resource of the pool ``n`` times ``kind`` are."""
    known, pools = _resources(inst), are_pools(inst)
    types = [] if pools else [m.name for m in inst.machines]
    base, of, part = kind.partition(" of ")
    word = kind if kind in known else ALIASES.get(base, base) + of + part
    units = known.get(word, {})
    what = _option(verb, n, kind)
    if kind in types:
        return n, kind
    if pools and kind in inst.resources:
        return n, kind
    if pools and len(units) == 1:
        ((k, each),) = units.items()
        return n * each // inst.unit_of(k)[1], inst.resources[k]
    if pools and units:
        alike = ", ".join(name for name in known if name.startswith(f"{word} of "))
        raise InputError(
            f"{what}: several resources of the pool are called that, expected one of: {alike}"
        )
    has = {m.name: _most(m, units, n) for m in inst.machines}
    has = {name: number for name, number in has.items() if number}
    if len(has) == 1:
        ((name, number),) = has.items()
        return number, name
    if has:
        whole = " or ".join(_option(verb, number, name) for name, number in has.items())
        typed = " or ".join(
            _option(verb, n, x)
            for x in known
            if x.startswith(f"{word}:") and " of " not in x
            if sum(_most(m, known[x], n) > 0 for m in inst.machines) == 1
        )
        raise InputError(
            f"{what}: several types of node have {kind}, and only whole nodes are added or "
            f"removed, expected {f'{typed}, or whole nodes: ' * bool(typed)}{whole}"
        )
    for name in (*types, *known):
        if name.lower() == word.lower():
            raise InputError(f"{what}: is called {name}, expected {n}x{name}")
    if pools:
        named = ", ".join(x for x in known if not any(y.startswith(f"{x} of ") for y in known))
        raise InputError(f"{what}: no resource of the pool is called that, expected: {named}")
    described = "; ".join(f"{m.name} ({inst.on_one(m.capacity)})" for m in inst.machines)
    named = ", ".join(x for x in known if " of " not in x)
    raise InputError(
        f"{what}: is no type of node, expected one of: {described}; or a resource: {named}"
        + (f"; or the name of a node, such as {next(iter(nodes))}" if nodes else "")
    )


def _most(machine: Machine, units: Mapping[int, int], n: int) -> int:
    """Return how many nodes have ``n`` of a resource of these units; 0: none has it."""
    there = ((machine.capacity[k], u) for k, u in units.items())
    return min((-(-n * u // c) for c, u in there if c), default=0)


def _told(inst: RigidInstance, n: int, name: str, asked: str, number: int) -> str:
    """Return a number of nodes in words, and what they have, where a resource is requested.

    ``number`` of it were requested; 0: by several changes.
    """
    types = {} if are_pools(inst) else {m.name: m for m in inst.machines}
    if name not in types:
        k = inst.resources.index(name)
        return inst.amounts([n * inst.unit_of(k)[1] * (j == k) for j in range(len(inst.total))])
    nodes = f"{n} node{'s' * (n > 1)} of type {name}"
    for k, u in _resources(inst).get(ALIASES.get(asked, asked), {}).items():
        if types[name].capacity[k]:
            has = n * types[name].capacity[k]
            exact = asked == name or has == number * u or not number
            rounded = "" if exact else f"; {number} requested, rounded up to whole nodes"
            return f"{nodes} ({inst.counted(k, has)}{rounded})"
    return nodes


def altered(inst: RigidInstance, **update: Any) -> RigidInstance:
    """Return an instance with other fields, checked."""
    fields = {name: getattr(inst, name) for name in RigidInstance.model_fields}
    return checked(RigidInstance, fields | update, "the changed instance")


def _submitted(inst: RigidInstance, i: int) -> str:
    """Return user and submission time of a job: its number alone does not identify it in a log."""
    job = inst.jobs[i]
    return f"submitted by {job.user} in second {job.arrival}: " if job.user else ""


def units_of(inst: RigidInstance) -> dict[str, tuple[int, ...]]:
    """Return the capacity that one more of each kind adds: of a resource, of a node type."""
    found = {}
    for k in range(len(inst.resources)):
        word, per = inst.unit_of(k)
        found[inst.within(k, word)] = tuple(
            per if j == k else 0 for j in range(len(inst.resources))
        )
    if not are_pools(inst):
        found |= {f"{NODE}{m.name}": m.capacity for m in inst.machines}
    return found
