"""Options that several commands share, and INPUT: a file, or a trace and its window."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from optsched.files.atomic_io import is_stdout, open_file, writable
from optsched.problem import (
    Family,
    InputError,
    Window,
    family_names,
    family_of,
    family_or_problem,
    get_family,
    is_named_in_file,
    option_name,
    problem_named,
)
from optsched.process import messages


def add_command(app: typer.Typer, command: Callable[..., object], name: str | None = None) -> None:
    """Add a command; its help is its docstring, a line per paragraph (wrapped when shown)."""
    text = (inspect.getdoc(command) or "").replace("[", r"\[")  # brackets are not markup
    lines = "\n\n".join(" ".join(part.split("\n")) for part in text.split("\n\n"))
    app.command(name, cls=PlainCommand, help=lines)(command)


def _flags_without_type(options: list[Any]) -> list[Any]:
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return options


class PlainGroup(TyperGroup):
    """A group of commands; its help shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options."""
        return _flags_without_type(super().get_params(ctx))


class PlainCommand(TyperCommand):
    """A command; its help shows flags without a type and arguments without braces."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        return _flags_without_type(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


def command_group(text: str, **more: Any) -> typer.Typer:
    """Return an empty group of commands."""
    names = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(
        cls=PlainGroup, help=text, no_args_is_help=True, context_settings=names, **more
    )


MOST = 100_000  # jobs, machines, ...
MOST_SLOTS = 1_000_000

INPUT = (
    "Instance or result (.json), job trace (CSV, SWF, sacct, ...; also .gz), `sample`, or declared "
    "problem (FILE.py:NAME)."
)
INPUTS = {  # of commands that do not take all of these
    "trace": "Job trace (CSV, SWF, sacct, ...; also .gz), `sample`, or declared problem "
    "(FILE.py:NAME).",
    "whatif": "Job trace, or instance file of family rigid.",
}
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
SearchSeed = Annotated[
    int,
    typer.Option(
        min=0,
        help="Seed of the search and of policies; of a declared problem, also of the instance.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print only results and errors.")]
MORE = {  # help of --verbose, by module and function of the command
    "solve.solve": "Print all shadow prices.",
    "ratio.ratio": "Print all table columns and shadow prices.",
    "show.show": "Print all table columns and shadow prices.",
    "campaign.run": "Print all table columns and pairwise comparisons of policies.",
    "campaign.resume": "Print all table columns and pairwise comparisons of policies.",
    "minimax.minimax": "Print all histories.",
}


def size(what: str, *names: str, most: int = MOST) -> Any:
    """Return the option for a size of an instance."""
    return typer.Option(*names, min=1, max=most, help=f"{what}.")


Slots = Annotated[int | None, size("Number of slots", "--horizon", most=MOST_SLOTS)]
Machines = Annotated[int | None, size("Number of machines")]
Ports = Annotated[int | None, size("Number of ports (bipartite)")]
Nodes = Annotated[int | None, size("Number of nodes (bot)")]

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the result here.")]
FAMILY_HELP = f"Problem family ({', '.join(family_names())})"
FAMILY_OR_PROBLEM = f"{FAMILY_HELP}, or declared problem (FILE.py:NAME)."
Pictures = Annotated[Path | None, typer.Option("--plot", help="Directory for plots.")]
Style = Annotated[
    Literal["screen", "paper"],
    typer.Option(help="screen: PNG; paper: PDF and SVG for a journal column or page."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Time limit of the search in seconds, excluding JIT compilation.",
        show_default="60, or none with --work-limit",
    ),
]
WORK_LIMIT = (
    "in work units, about 1 ms each on one core. Work is counted, not timed, so the result does "
    "not depend on the speed or load of the machine"
)
WorkLimit = Annotated[
    float | None, typer.Option(min=0, help=f"Limit of the search {WORK_LIMIT}; uses one thread.")
]
Gap = Annotated[
    float, typer.Option(min=0, help="Stop at this relative gap between value and bound.")
]
Threads = Annotated[
    int,
    typer.Option(
        min=1, max=256, help="Threads of the search and its solvers; 1 with --work-limit."
    ),
]
Method = Annotated[
    str, typer.Option("--method", "-m", help="Solution method; see `optsched info`.")
]
Params = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Parameters of the methods (TOML, a section per component); see `optsched info "
        "--params`.",
    ),
]
StartFrom = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Warm start: the file of a schedule, run or result. The bound of a result is used "
        "as well.",
    ),
]

POLICY_HELP = (
    "Name of a policy (see `optsched info`), Python class (MODULE:CLASS, FILE.py:NAME), or program "
    "(exec:COMMAND)."
)
ChoiceSeed = Annotated[
    int | None,
    typer.Option(min=0, help="Seed of that choice (default: a new one, which is printed)."),
]


def several_policies(text: str) -> Any:
    """Return the option that names policies."""
    return typer.Option("--policy", "-p", metavar="POLICY", help=text)


Sandboxed = Annotated[
    bool,
    typer.Option(
        "--sandbox",
        help="Run policies in an isolated process that receives only public data, the "
        "statistics that they request (`knows`), a seed, and events.",
    ),
]
DecisionLimit = Annotated[
    float | None,
    typer.Option(
        help="Time limit per decision (s).",
        show_default="600 for a sandboxed policy, else none",
    ),
]
Statistics = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE",
        help="Import a module that registers statistics which policies may request (`knows`); may "
        "be repeated.",
    ),
]


def _window(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="If INPUT is a trace", **more)


WINDOW = {
    "machines": Annotated[
        Path | None,
        _window(
            "Machine list (CSV). For rigid, and for oasis and dmlrs unless --load is given, the "
            "cluster is exactly this list, and times are those of the trace. Otherwise only the "
            "proportions of machine types are used."
        ),
    ],
    "profile": Annotated[
        list[Path] | None,
        _window(
            "completion: measured training speeds of the neural networks that a trace names "
            "(CSV); may be repeated.",
            metavar="FILE",
        ),
    ],
    "jobs": Annotated[
        int | None,
        _window(
            "Number of jobs.",
            min=1,
            max=MOST,
            show_default="100; rigid 1000, bipartite 4000; all, if there are fewer",
        ),
    ],
    "slots": Annotated[
        int | None,
        _window(
            "Number of slots.",
            "--horizon",
            min=1,
            max=MOST_SLOTS,
            show_default="100; bipartite 500; all, if times are those of the trace",
        ),
    ],
    "slot": Annotated[
        str | None,
        _window(
            "Length of a slot: 90s, 15min, 1h, ...",
            "--slot-length",
            show_default="1h; another length, which is printed, if many jobs could not finish "
            "or the load could not be reached; bipartite 10min",
        ),
    ],
    "start": Annotated[
        str | None,
        _window(
            "Start of the window: a time since the first arrival (0, the default; 30d), a date, "
            "#500 (the job after the first 500), or 3/20 (the 3rd of 20 parts)."
        ),
    ],
    "load": Annotated[
        float | None,
        _window(
            "Offered load: demand over capacity (completion: the GPU time of all jobs, each on its "
            "best type, over that of all GPUs; not for rigid). Arrivals are scaled to the "
            "horizon; the number of machines (bipartite: the size of the requests) is chosen to "
            "give about this load. Default: 1 (completion), 3 (bipartite), 2 (oasis and dmlrs, if "
            "--machines is not given)."
        ),
    ],
    "min_tasks": Annotated[
        int | None, _window("Only jobs with at least this many tasks.", min=1, max=MOST)
    ],
    "shapes": Annotated[
        Path | None, _window("Job list (CSV) from which missing task demands are sampled.")
    ],
    "draw_seed": Annotated[
        int | None, _window("Seed for attributes missing from the trace.", min=0)
    ],
    "as_is": Annotated[
        bool | None,
        _window(
            "oasis, dmlrs: use exactly the listed machines and the times of the trace. Default "
            "if --machines is given and --load is not. Without --machines, the trace must come "
            "with a list of machines, as `sample` does.",
            "--no-scaling",
        ),
    ],
    "packed": Annotated[
        bool | None,
        _window(
            "rigid: place each task on one node of the list; if the log states a job's number of "
            "nodes, the job is split into as many equal shares; several shares may be placed on "
            "one node. By default, nodes form one pool, or one per partition.",
            "--packed",
        ),
    ],
    "objective": Annotated[
        Literal["flow", "wait", "slowdown", "makespan"] | None,
        _window(
            "rigid: mean flow time, mean waiting time, mean bounded slowdown, or makespan.",
            show_default="flow",
        ),
    ],
    "skip_unfit": Annotated[
        bool | None,
        _window("rigid: leave out jobs that never fit on the machines.", "--skip-unfit"),
    ],
}
"""Without them the family's own settings: most take 100 jobs, 100 slots and load 2."""


FAMILY = {"whatif": "rigid"}  # by command; of the others that of the log
# rigid has no options of scaling; the objective is the waiting time
OF_WHATIF = {  # as it is for family rigid
    "machines": Annotated[
        Path | None, _window("Machine list (CSV): the cluster has exactly these machines.")
    ],
    "jobs": Annotated[
        int | None,
        _window("Number of jobs.", min=1, max=MOST, show_default="1000; all, if there are fewer"),
    ],
    "packed": Annotated[
        bool | None,
        _window(
            "Place each task on one node of the list; if the log states a job's number of nodes, "
            "the job is split into as many equal shares; several shares may be placed on one node. "
            "--pooled: nodes form one pool, or one per partition.",
            "--packed/--pooled",
            show_default="--packed with a list of nodes on which all jobs fit, unless each task is "
            "one unit of one resource",
        ),
    ],
}
NOT_OF_WHATIF = ("profile", "slots", "slot", "load", "shapes", "objective", "as_is")


def with_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that state how much it prints."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [p.replace(kind=keyword) for p in inspect.signature(command).parameters.values()]
    place = f"{command.__module__.rpartition('.')[2]}.{command.__name__}"
    text = MORE.get(place, "Print the traceback of an internal error.")
    verbose = Annotated[bool, typer.Option("-v", "--verbose", help=text)]
    more = [
        inspect.Parameter(name, keyword, annotation=kind, default=False)
        for name, kind in (("quiet", Quiet), ("verbose", verbose))
    ]

    @functools.wraps(command)
    def wrapper(*, quiet: bool, verbose: bool, **given: Any) -> None:
        messages.settle(quiet=quiet, verbose=verbose)
        command(**given)

    return _with_options(wrapper, [*own, *more])


def _with_options(
    command: Callable[..., None], parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """Have `typer` see ``parameters``."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


OWN = ("source", "window", "instance", "remarks", "preset", "family")  # type of INPUT


def takes_input(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command INPUT, the options of a trace, and those of :func:`with_verbosity`.

    The seed of a problem is the command's own, if it has one; policies receive a hash of it, since
    they could draw the same instance again. The command is called with what it requests: the
    ``instance``, ``remarks`` on it, the path as ``source``, the ``preset``, the ``family``, and the
    options of a trace as ``window``.
    """
    parameters = inspect.signature(command).parameters
    keyword = inspect.Parameter.KEYWORD_ONLY
    known = command.__name__ in FAMILY
    argument = typer.Argument(metavar="INPUT", help=INPUTS.get(command.__name__, INPUT))
    source = inspect.Parameter("source", keyword, annotation=Annotated[Path, argument])
    own = [p.replace(kind=keyword) for p in parameters.values() if p.name not in OWN]
    preset = typer.Option(
        help="Preset from which the instance is drawn (default: the first).",
        rich_help_panel="If INPUT is a declared problem",
        hidden=known,
    )
    family_option = _window(
        f"{FAMILY_HELP} of the instance; bot reads platform files instead of job traces.",
        show_default="rigid for logs of Slurm, SWF and Batsim and for lists with "
        "request_seconds, else oasis",
        hidden=known,
    )
    kinds: dict[str, Any] = {"preset": Annotated[str | None, preset]}
    kinds |= {"family": Annotated[str | None, family_option]}
    kinds |= WINDOW | (OF_WHATIF if known else {})
    options = [
        inspect.Parameter(name, keyword, annotation=kind, default=None)
        for name, kind in kinds.items()
        if not (known and name in NOT_OF_WHATIF) and (name in OWN or name not in parameters)
    ]

    @functools.wraps(command)
    def wrapper(*, source: Path, family: str | None, preset: str | None, **given: Any) -> None:
        from optsched.core import is_instance, open_input  # traces need a library of tables
        from optsched.core.inputs import usual_family

        if (output := given.get("output")) is not None:
            logs = [] if source.suffix == ".json" else [source]  # a result holds its instance
            writable(output, given.get("machines"), *logs)  # refused early
            if is_stdout(output) and "time_limit" in given:  # where the table is printed
                raise InputError("-o -: expected a file, or --json for the result on stdout")
        source = Path(problem_named(str(source)))
        text = {name: given.pop(name, None) for name in WINDOW if name not in parameters}
        if given.get("windows") is not None:  # facts are those of the first one
            for name in ("start", "draw_seed"):
                if text[name] is not None:
                    raise InputError(
                        f"{option_name(name)} is about one window, expected it without --windows"
                    )
            text["start"] = f"1/{given['windows']}"
        profiles = text.pop("profile")
        window = Window(**text, profiles=tuple(profiles) if profiles else None)
        for name, value in (("source", source), ("window", window), ("preset", preset)):
            if name in parameters:
                given[name] = value
        _readable(window.machines, window.shapes, *window.profiles or ())
        _readable(*(given.get(name) for name in ("schedule", "optimum", "start_from", "params")))
        family, note = family or FAMILY.get(command.__name__), ""
        if not is_named_in_file(str(source)) and not is_instance(source):
            family, note = (family, "") if family else usual_family(source)
            _refuse_early(get_family(family), window, given)
        if "family" in parameters:
            given["family"] = family
        if "instance" in parameters:
            with (
                messages.long_step(f"reading {source}"),
                messages.collected_remarks() as remarks,
            ):
                seed = given.get("seed", 0)
                instance = open_input(source, family or "oasis", window, preset, seed)
            if "policy" in given and given.get("seeds") is None and is_named_in_file(str(source)):
                given["seed"] = _one_way(seed)
            _refuse_early(family_of(instance), window, given)
            given["instance"] = instance
            if "remarks" in parameters:
                given["remarks"] = remarks
        if note:
            messages.remark(note)
        command(**given)

    return with_verbosity(_with_options(wrapper, [source, *own, *options]))


def _one_way(seed: int) -> int:
    return int.from_bytes(sha256(str(seed).encode()).digest()[:6], "big")


def _readable(*paths: Path | None) -> None:
    """Refuse files that cannot be opened, before what takes long."""
    for path in paths:
        if path is not None:
            with open_file(path):
                pass


def _refuse_early(family: Family, window: Window, given: dict[str, Any]) -> None:
    """Refuse what can be known to be wrong without the log; read parameters, rename a method."""
    from optsched.core.optimum import method_of
    from optsched.engine.params import changes, read_params
    from optsched.policies.loader import known_or_refused

    policies = given.get("policy") or ()
    for policy in [policies] if isinstance(policies, str) else policies:
        known_or_refused(family, policy)
    if "method" in given:
        given["method"] = method_of(family, given["method"])
    if given.get("params") is not None:
        given["params"] = changes(read_params(family, given["params"]))
    if window.slot is not None:
        from optsched.traces.tables import seconds

        seconds(window.slot)
    if window.start is not None:
        from optsched.traces.windows import must_be_start

        must_be_start(window.start)


def load_statistics(modules: Sequence[str] | None) -> None:
    """Import the modules that register statistics, also from the folder of the command."""
    from optsched.process.loading import import_from_folder

    for module in modules or ():
        import_from_folder(module, f"statistics {module!r}")


def sizes_given(family: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes that were given.

    Raises
    ------
    InputError
        The family does not support one of them.
    """
    given = {name: n for name, n in sizes.items() if n is not None}
    made = family_or_problem(family)
    options = [option_name(name) for name in made.sizes if name in sizes]
    for name in given:
        if name not in made.sizes:
            presets = f"the sizes of a preset, --preset {' or '.join(made.presets)}"
            expected = f"one of: {', '.join(options)}" if options else presets
            raise InputError(
                f"option {option_name(name)} is not supported by family {family}, expected "
                f"{expected}"
            )
    return given
