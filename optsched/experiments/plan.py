"""The plan of a campaign: a TOML file, or the same from Python, and the cells that it requests."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from inspect import isfunction
from math import isfinite, prod
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)

from optsched.base import Text
from optsched.engine.interval import CLOSED
from optsched.engine.params import changes, read_params
from optsched.experiments.cell_keys import (
    WINDOWS,
    Case,
    Contender,
    Reference,
    Source,
    abridged,
    canonical,
    cells_of,
    digest_of,
    digest_of_policy,
    grid,
    instance_key,
    matching,
    number_of,
)
from optsched.files.atomic_io import read_limited
from optsched.files.format import Validating, checked, must_be_printable
from optsched.policies.loader import get_policy, known_or_refused
from optsched.problem import (
    OLD_METHODS,
    OPTIONS,
    REAL,
    Frozen,
    InputError,
    Level,
    Window,
    family_or_problem,
    get_family,
    is_named_in_file,
    option_name,
    problem_in,
)
from optsched.process import messages
from optsched.process.loading import name_of

LARGEST = 1 << 24  # bytes of a plan
EFFORT = 60_000.0  # units: a minute or so, like the time limit of `solve`
MOST = 1_000_000  # cells of a plan, and seeds
POINTS = 100_000  # of its grids
DEEPEST = 20  # levels of lists and tables in a plan
JsonTable = dict[str, Any]
OF_OPTION = {option.replace("-", "_"): name for name, option in OPTIONS.items()}
KEYS = {option_name(f.name): f"parameters.{f.name}" for f in fields(Window)}
KEYS["--family"] = "family"


def _range(value: Any) -> Any:
    """Read 20 as 0 .. 19, and "5..8" as 5, 6, 7, 8."""
    if isinstance(value, bool):
        raise ValueError(f"is {value}, expected how many, 'first..last', or a list")
    if isinstance(value, int):
        if value > MOST:
            raise ValueError(f"is {value}, expected at most {MOST} seeds")
        return range(value)
    if isinstance(value, str):
        ends = re.fullmatch(r"(\d{1,15})\.\.(\d{1,15})", value.replace(" ", ""))
        if ends is None:
            raise ValueError(f"is {value!r}, expected how many, 'first..last', or a list")
        if int(ends[2]) - int(ends[1]) >= MOST:
            raise ValueError(f"is {value!r}, expected at most {MOST} seeds")
        return range(int(ends[1]), int(ends[2]) + 1)
    return value


def _seeds(value: Any) -> Any:
    seeds = _range(value)
    return tuple(seeds) if isinstance(seeds, range) else seeds


Seed = Annotated[NonNegativeInt, Field(lt=1 << 63)]  # SQLite stores no larger one
Seeds = Annotated[tuple[Seed, ...], BeforeValidator(_seeds), Field(min_length=1)]
Axes = dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]]


class SearchLimits(Frozen):
    """How optima are looked for: by work, which repeats, or by time, which does not."""

    method: str = "auto"
    time_limit: float | None = Field(default=None, ge=0, description="seconds")
    effort: float | None = Field(
        default=None,
        ge=0,
        validation_alias=AliasChoices("work_limit", "effort"),  # stored under the older name
        description="units of work; 60000 by default",
    )
    gap: float = Field(default=CLOSED, ge=0, lt=1)
    seed: NonNegativeInt = 0
    check: Level = Level.CERTIFIED
    params: JsonTable = Field(
        default={}, exclude_if=lambda params: not params, description="of the methods, by component"
    )

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if self.effort is not None and self.time_limit is not None:
            raise ValueError("work_limit and time_limit are both given, expected one of them")
        return self

    def reference(self, family: str) -> Reference:
        """Return the reference; without a limit it has `EFFORT`.

        Raises
        ------
        InputError
            The family has no such method, or no such parameter.
        """
        methods = get_family(family).methods
        if OLD_METHODS.get(self.method, self.method) not in methods:
            raise InputError(
                f"{family}: unknown method {self.method!r}, expected one of: {', '.join(methods)}"
            )
        effort = EFFORT if self.effort is None and self.time_limit is None else self.effort
        params = changes(read_params(get_family(family), self.params))
        limits = (self.method, self.time_limit, effort, self.gap, self.seed)
        sense = "min" if family.startswith("declared-min") else ""
        return Reference(*limits, str(self.check), params, sense)


class Instances(Frozen):
    """A generator or a trace, with a grid over any of its parameters, and seeds; or files."""

    family: str
    label: Text | None = Field(
        default=None, min_length=1, max_length=200, description="name of the group in tables"
    )
    preset: str | None = None
    trace: str | None = Field(default=None, description="a file, or the word sample")
    files: str | None = Field(default=None, description="instance files, such as mine/*.json")
    windows: int | None = Field(
        default=None, ge=2, le=100_000, description="disjoint parts of the trace, an instance each"
    )
    recorded: bool | None = Field(
        default=None, description="the recorded schedule is a row; by default if the trace has one"
    )
    seeds: Seeds = (0,)
    parameters: JsonTable = Field(default={})
    grid: Axes = Field(default={})
    reference: SearchLimits | None = Field(default=None, description="else the plan's")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, given: Any) -> Any:
        """Refuse other keys; parameters of a trace may have the names of the options."""
        if not isinstance(given, dict):
            return given
        if "files" in given and "family" not in given:
            raise ValueError(
                'family is missing, expected that of the files, such as "declared-min"'
            )
        for name in [name for name in given if name not in cls.model_fields]:
            raise ValueError(
                f"{name} is no key here, expected one of: {', '.join(cls.model_fields)}; options "
                f"of the trace or the generator are in parameters = {{{name} = ...}}"
            )
        if given.get("trace") is None:
            return given
        tables = {n: t for n in ("parameters", "grid") if isinstance(t := given.get(n), dict)}
        return given | {
            n: {OF_OPTION.get(k, k): x for k, x in t.items()} for n, t in tables.items()
        }

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if self.family.endswith(".py"):
            raise ValueError(
                f"family is {self.family!r}, expected the problem as well, as in {self.family}:NAME"
            )
        if not is_named_in_file(self.family):  # which is run later, if at all
            get_family(self.family)
        if is_named_in_file(self.trace or ""):
            raise ValueError(f"trace is {self.trace!r}, expected a file of a trace, not of code")
        origins = [name for name in ("trace", "preset", "files") if getattr(self, name) is not None]
        if len(origins) > 1:
            raise ValueError(f"{' and '.join(origins)} are given, expected one of them")
        if self.files is not None:
            if self.seeds != (0,) or self.parameters or self.grid:
                raise ValueError("files are instances as they are, expected no other key")
            if "**" in self.files or not self.files.endswith(".json"):
                raise ValueError(f"files is {self.files!r}, expected a pattern such as mine/*.json")
        twice = [n for n in self.grid if n in self.parameters or (n == "preset" and self.preset)]
        if twice:
            raise ValueError(f"{twice[0]} is fixed and an axis of the grid, expected one of them")
        for name in ("seed", "draw_seed"):
            if name in self.parameters or name in self.grid:
                raise ValueError(f"{name} is no parameter here, expected it in seeds")
        if self.trace is not None and WINDOWS in {*self.parameters, *self.grid}:
            raise ValueError("windows is no parameter here, expected it next to trace")
        if self.recorded and self.trace is None:
            raise ValueError("recorded is about a trace, expected a trace")
        if self.windows is not None:
            if self.trace is None:
                raise ValueError("windows are parts of a trace, expected a trace")
            if self.seeds != (0,) or "start" in {*self.parameters, *self.grid}:
                raise ValueError(
                    "windows have starts and seeds of their own, expected neither seeds nor start"
                )
        return self

    def named(self, folder: Path) -> list[str]:
        """Return the instance files that there are, as seen from the folder of the plan.

        Raises
        ------
        InputError
            There is none.
        """
        if self.files is None:
            return []
        start = Path(self.files).anchor or folder
        found = Path(start).glob(str(Path(self.files).relative_to(Path(self.files).anchor)))
        try:
            names = sorted(
                str(path) if Path(self.files).is_absolute() else path.relative_to(folder).as_posix()
                for path in found
            )
        except OSError as err:
            raise InputError(f"files {self.files!r}: cannot be listed: {err}") from err
        if not names:
            raise InputError(f"files {self.files!r}: there is none in {folder.resolve()}")
        return names

    def numbers(self, digests: Mapping[str, str]) -> tuple[int, ...]:
        """Return the seeds; of a file, a hash of its content; of a window, its position from 1."""
        if self.windows is not None:
            return tuple(range(1, self.windows + 1))
        if self.files is None:
            return self.seeds
        return tuple(number_of(digests[name]) for name in matching(self.files, digests))

    def sources(self, digests: Mapping[str, str], folder: str) -> Iterator[Source]:
        """Yield a source for every point of the grid."""
        if self.files is not None:
            yield Source(self.family, {}, None, folder, digests, self.files, self.label)
            return
        fixed: JsonTable = {} if self.preset is None else {"preset": self.preset}
        fixed |= {} if self.windows is None else {WINDOWS: self.windows}
        for point in grid(self.grid):
            given = {**fixed, **self.parameters, **point}
            if self.trace is None and "preset" not in given:
                given = {"preset": get_family(self.family).presets[0], **given}
            axes = " ".join(f"{k}={abridged(v)}" for k, v in point.items())
            name = self.label and f"{self.label} {axes}".rstrip()
            yield Source(self.family, given, self.trace, folder, digests, name=name)


class Policies(Frozen):
    """A policy, with a grid over its parameters."""

    name: str = Field(description="of the family's, an entry point, MODULE:CLASS or exec:COMMAND")
    family: str | None = Field(default=None, description="else every family that has it")
    parameters: JsonTable = Field(default={})
    grid: Axes = Field(default={})
    sealed: bool = Field(
        default=False,
        validation_alias=AliasChoices("sandbox", "sealed"),  # stored under the older name
        description="whether it runs in a sandbox",
    )
    decision_limit: float | None = Field(
        default=None, gt=0, description="seconds for each decision; in a sandbox by default 600"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if isinstance(given, dict) and "name" not in given:
            raise ValueError('has no name, expected one, such as name = "greedy"')
        return given

    @model_validator(mode="after")
    def _made_here(self) -> Self:
        sealed = self.sealed or self.name.startswith("exec:")
        if sealed and (self.parameters or self.grid):
            raise ValueError(f"{self.name} runs in a sandbox, without parameters; expected none")
        return self

    def contenders(self, digests: Mapping[str, str]) -> Iterator[Contender]:
        """Yield a policy for every point of the grid."""
        for point in grid(self.grid):
            given = {**self.parameters, **point}
            digest, limit = digests.get(self.name), self.decision_limit
            yield Contender(self.name, given, self.sealed, digest, limit)


class CellLimits(Frozen):
    """Limits of a worker. No part of any key: a cell within its limits is the same."""

    cell_seconds: float = Field(
        default=600.0, gt=0, description="after which a cell counts as hung, on top of a time limit"
    )
    memory_gb: float | None = Field(
        default=None,
        gt=0,
        le=1e6,
        description="for the cells of a worker; None: its share of the machine",
    )


class Plan(Frozen):
    """Plan of a campaign."""

    name: str = "campaign"
    instances: tuple[Instances, ...] = Field(min_length=1)
    policies: tuple[Policies, ...] = Field(default=(), description="none: all of the families")
    replications: PositiveInt = Field(default=1, description="seeds of the policies per instance")
    reference: SearchLimits = SearchLimits()
    limits: CellLimits = CellLimits()
    folder: str = Field(default=".", description="where files are looked for")
    digests: dict[str, str] = Field(default={}, description="SHA-256 of files, by name")

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, given: Any) -> Any:
        for name in ("instances", "policies"):
            if isinstance(given, dict) and isinstance(given.get(name), dict):
                raise ValueError(f"[{name}] is one table, expected [[{name}]]")
        return given

    @model_validator(mode="before")
    @classmethod
    def _few_seeds(cls, given: Any) -> Any:
        """Refuse ranges of seeds before the seeds are made."""
        blocks = given.get("instances") if isinstance(given, dict) else None
        seeds = 0
        for block in blocks if isinstance(blocks, list | tuple) else ():
            with contextlib.suppress(ValueError):  # which is stated with its place later
                one = _range(block.get("seeds")) if isinstance(block, dict) else None
                seeds += len(one) if isinstance(one, range) else 0
        if seeds > MOST:
            raise ValueError(f"there are more than {MOST} seeds, expected fewer")
        return given

    @model_validator(mode="after")
    def _few_enough(self) -> Self:
        """Refuse grids that are too large to run; `refuse_many` counts their cells."""
        for blocks in (self.instances, self.policies):
            if sum(prod(map(len, block.grid.values())) for block in blocks) > POINTS:
                raise ValueError(f"a grid has more than {POINTS} points, expected fewer")
        if self.replications > MOST:
            raise ValueError(f"replications is {self.replications}, expected at most {MOST}")
        return self

    @model_validator(mode="after")
    def _distinct_labels(self) -> Self:
        """Refuse one label of several sources; the same one may have several references."""
        alike = [b.model_copy(update={"reference": None}) for b in self.instances if b.label]
        known: dict[str | None, Instances] = {}
        for block in alike:
            if known.setdefault(block.label, block) != block:
                raise ValueError(f"several instances are labelled {block.label!r}, expected one")
        return self

    def problems(self) -> list[str]:
        """Return the problems in files that instances are drawn of."""
        found = dict.fromkeys(problem_in(block.family) for block in self.instances)
        return [name for name in found if name is not None]

    def code(self, *, policies: bool = True) -> list[str]:
        """Return the names of problems in files and, if they are to run, of external policies."""
        outside = [block.name for block in self.policies if ":" in block.name]
        return [*dict.fromkeys([*self.problems(), *(outside if policies else ())])]

    def try_policies(self) -> None:
        """Make external policies of Python that run in processes of this package.

        Raises
        ------
        InputError
            One cannot be loaded.
        PolicyError
            Its own code fails.
        """
        for block in self.instances:
            for contender in self._contenders(block.family):
                name = contender.name
                if ":" in name and not name.startswith("exec:") and not contender.sealed:
                    get_policy(get_family(block.family), name, **contender.parameters)

    def refuse_code(
        self, trust: bool | Collection[str], place: Path | str, *, policies: bool = True
    ) -> None:
        """Refuse external policies, and problems in files, that only the plan names.

        Without this check no code that a plan or a store names runs: see `Source.make` and
        `Contender.play`.

        Parameters
        ----------
        trust : bool, or sequence of str
            The names that may be run; True: all.
        place : Path or str
            Where the plan is, for the message.
        policies : bool
            Whether policies also run, or only instances are made.

        Raises
        ------
        InputError
            Names what would be run.
        """
        code, runs = self.code(), self.code(policies=policies)
        named = code if isinstance(trust, bool) else trust
        unknown = [name for name in named if name not in code]
        if unknown:
            raise InputError(f"{place}: has no policy {unknown[0]!r} from outside, nor a problem")
        refused = [name for name in runs if trust is False or name not in named]
        if refused:
            raise InputError(
                f"{place}: names code that would be run: {', '.join(map(repr, refused))}; "
                "expected --allow to name it, or --trust"
            )

    def content(self) -> JsonTable:
        """Return the fields that determine the cells: neither the limits nor the folder."""
        return self.model_dump(mode="json", exclude={"limits", "folder", "name"})

    def cases(self) -> Iterator[Case]:
        """Yield every instance with its cells; an instance that is named twice comes once.

        Raises
        ------
        InputError
            A family without a policy, or an unknown name.
        """
        seen: set[bytes] = set()
        for block in self.instances:
            reference = (block.reference or self.reference).reference(block.family)
            contenders = self._contenders(block.family)
            contenders += [Contender(REAL, {})] if block.recorded else []
            for source in block.sources(self.digests, self.folder):
                for seed in block.numbers(self.digests):
                    key = instance_key(source, seed)
                    cells = tuple(cells_of(key, reference, contenders, self.replications))
                    if cells[0].key not in seen:
                        seen.add(cells[0].key)
                        yield Case(key, source, seed, reference, cells)

    def keys(self) -> set[bytes]:
        """Return the keys of all cells."""
        return {cell.key for case in self.cases() for cell in case.cells}

    def _try(self, family: str) -> None:
        """Make every policy of the family's own that has parameters: they may be none."""
        own = get_family(family).policies
        for contender in self._contenders(family):
            if contender.name in own and contender.parameters:
                with Validating(contender.label):
                    get_policy(get_family(family), contender.name, **contender.parameters)

    def _contenders(self, family: str) -> list[Contender]:
        known = get_family(family)
        if not self.policies:
            return [Contender(name, {}) for name in known.compared]
        found = {
            contender.key: contender
            for block in self.policies
            if block.family in (None, family)
            for contender in block.contenders(self.digests)
            if block.family is not None or contender.serves(known)
        }
        if not found:
            raise InputError(
                f"{family}: no policy of the plan belongs to it, "
                f"expected one of: {', '.join(known.policies)}"
            )
        return list(found.values())

    def refuse_many(self) -> None:
        """Refuse a plan of too many cells, before any is made.

        Raises
        ------
        InputError
            There are more than `MOST`, those that are named twice counted twice.
        """
        cells = 0
        for block in self.instances:
            family = get_family(block.family)
            settings = [
                prod(map(len, policies.grid.values()))
                for policies in self.policies
                if policies.family in (None, block.family)
                and (policies.family or ":" in policies.name or policies.name in family.policies)
            ]
            sources = prod(map(len, block.grid.values())) * len(block.numbers(self.digests))
            rows = (sum(settings) or len(family.compared)) + bool(block.recorded)
            cells += sources * rows * self.replications
        if cells > MOST:
            raise InputError(f"the plan requests {cells} cells, expected at most {MOST}")

    def _with_problems(self) -> Plan:
        """Run the files of problems; put the family of the instances in front of each name."""
        made = {name: family_or_problem(name) for name in self.problems()}
        names = {name: f"{family.name} {name}" for name, family in made.items()}
        instances = []
        for block in self.instances:
            update: JsonTable = {"family": names.get(block.family, block.family)}
            drawn = block.trace is None and block.files is None
            given = {*block.parameters, *block.grid}
            if block.family in made and drawn and block.preset is None and "preset" not in given:
                update["preset"] = made[block.family].presets[0]
            instances.append(block.model_copy(update=update))
        policies = [
            block.model_copy(update={"family": names.get(block.family or "", block.family)})
            for block in self.policies
        ]
        return self.model_copy(update={"instances": tuple(instances), "policies": tuple(policies)})

    def settled(self, folder: Path) -> Plan:
        """Return the plan with all names checked, and the digests of its files.

        Parameters
        ----------
        folder : Path
            Where its files are looked for.

        Raises
        ------
        InputError
            An unknown family, preset, parameter, policy or method; a file that cannot be read; or
            too many cells.
        """
        problems = {block.family: problem_in(block.family) for block in self.instances}
        if any(family == problem for family, problem in problems.items()):
            return self._with_problems().settled(folder)
        digests: dict[str, str] = {
            family: digest_of(Path(problem.rpartition(":")[0]))
            for family, problem in problems.items()
            if problem is not None
        }
        families = {block.family for block in self.instances}
        for policy in self.policies:
            if policy.family is not None:
                known_or_refused(get_family(policy.family), policy.name)
            elif not any(policy.name in get_family(f).policies for f in families):
                known_or_refused(get_family(min(families)), policy.name)
            digest = digest_of_policy(policy.name)
            if digest is not None:
                digests[policy.name] = digest
        self.refuse_many()
        instances = []
        for block in self.instances:
            (block.reference or self.reference).reference(block.family)
            self._try(block.family)
            own = {name: digest_of(folder / name) for name in block.named(folder)}
            digests |= own
            numbers = block.numbers(own)
            for source in block.sources(own or digests, str(folder)):
                for number in numbers if own else numbers[:1]:
                    source.check(number)
                for named in source.files():
                    digests[named] = digest_of(folder / named)
            known = block.recorded
            if known is None and block.trace is not None:
                known = all(_is_recorded(s, numbers[0]) for s in block.sources({}, str(folder)))
            instances.append(block.model_copy(update={"recorded": known}))
        update = {"instances": tuple(instances), "digests": digests}
        settled = self.model_copy(update=update | {"folder": str(folder.resolve())})
        settled.refuse_many()  # now with its files
        return settled


def _is_recorded(source: Source, seed: int) -> bool:
    """Whether a trace has a recorded schedule; if it cannot be read, its cells state why."""
    try:
        instance = source.make(seed)
    except InputError:
        return False
    try:
        return source.recorded(seed, instance) is not None
    except InputError as err:
        messages.remark(str(err))
        return False


def read_plan(path: Path, trust: bool | Collection[str] = False) -> Plan:
    """Read a plan, checked, with the digests of the files that it names.

    A plan that names problems in files is read only with ``trust``, since they are run; see
    :meth:`Plan.refuse_code`.

    Raises
    ------
    InputError
        One line states where, what is there and what would be right.
    """
    data = read_limited(path, LARGEST)
    try:
        content = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as err:  # also whole numbers of too many digits
        raise InputError(f"{path}: is no TOML: {err}") from err
    made = _named(content, path.stem, str(path))
    if made.problems():
        made.refuse_code(trust, path)
    try:
        return made.settled(path.parent)
    except InputError as err:
        keys = re.sub(r"--[a-z]+(-[a-z]+)*", lambda m: KEYS.get(m[0], m[0]), str(err))
        raise InputError(f"{path}: {keys}") from err


def _named(content: JsonTable, name: str, place: str) -> Plan:
    for own in ("digests", "folder"):
        if own in content:
            raise InputError(f"{place}: {own} is no key of a plan, expected it to be left out")
    _must_be_json(content, place)
    return checked(Plan, {"name": name} | content, place)


def _must_be_json(content: Any, place: str) -> None:
    """Refuse values that stores cannot hold or tables show: dates, NaN, control characters."""
    if _is_nested(content, DEEPEST):
        raise InputError(f"{place}: is nested too deeply, expected at most {DEEPEST} levels")
    for key, value in _objects(content):
        if isinstance(value, float):
            raise InputError(f"{place}: {key} is {value}, expected a finite number")
        function = getattr(value, "function", value)  # of a problem, or of a policy
        right = f"its name, {name_of(function)!r}" if isfunction(function) else "a text or a number"
        raise InputError(f"{place}: {key} is a {type(value).__name__}, expected {right}")
    try:
        must_be_printable(json.loads(canonical(content)))
    except (ValueError, TypeError) as err:
        raise InputError(f"{place}: {err}; expected finite numbers and plain texts") from err


def _objects(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what no JSON can hold, with its place."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _objects(part, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for k, part in enumerate(value):
            yield from _objects(part, f"{key}[{k}]")
    elif not isinstance(value, str | int | float | None) or (
        isinstance(value, float) and not isfinite(value)
    ):
        yield key, value


def _is_nested(value: Any, levels: int) -> bool:
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(parts, Collection) or isinstance(parts, str | bytes):
        return False
    return levels == 0 or any(_is_nested(part, levels - 1) for part in parts)


def make_plan(content: Mapping[str, Any], folder: Path) -> Plan:
    """Return the plan that a mapping describes, as a TOML file would; files are in ``folder``."""
    return _named(dict(content), "campaign", "plan").settled(folder)


def stored_plan(text: str, path: Path) -> Plan:
    """Return a plan that a store holds: its files need not be there any more.

    Raises
    ------
    InputError
        It is none.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as err:
        raise InputError(f"{path}: holds no plan: {err}") from err
    _must_be_json(content, f"{path}: plan")
    plan = checked(Plan, content, f"{path}: plan")
    try:
        plan.refuse_many()
    except InputError as err:
        raise InputError(f"{path}: {err}") from err
    return plan


def difference(there: Any, here: Any, place: str = "") -> str | None:
    """Return the first key in which two contents differ, with both values; None: they are equal.

    >>> difference({"a": {"b": 1}}, {"a": {"b": 2}})
    'a.b is 2, but 1 in the store'
    """
    if isinstance(there, dict) and isinstance(here, dict):
        for name in sorted({*there, *here}):
            inner = f"{place}.{name}" if place else name
            found = difference(there.get(name), here.get(name), inner)
            if found:
                return found
        return None
    if _rows(there) and _rows(here) and len(there) == len(here):
        for k, (a, b) in enumerate(zip(there, here, strict=True)):
            found = difference(a, b, f"{place}[{k}]")
            if found:
                return found
        return None
    if canonical(there) == canonical(here):
        return None
    return f"{place} is {_brief(here)}, but {_brief(there)} in the store"


def _rows(value: Any) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(isinstance(x, dict) for x in value)


def _brief(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= 60 else f"{text[:40]} ... {text[-15:]}"
