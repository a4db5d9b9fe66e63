"""The clock and the accounts of an online run; a policy cannot see the future.

The instance is taken down as text before the policy is made. Copies are read from it: one from
which the policy is shown its events, one that is read for its prior knowledge, and one
that records and checks. So a policy never has the objects with which it is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from typing import Any, cast

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from optsched.base import renamed_arguments
from optsched.files.format import of_family
from optsched.numbers.json_float import Signed
from optsched.numbers.streams import Streams
from optsched.policies.knowledge import checked_prior, compute, own
from optsched.policies.loader import blamed, get_policy, introduced, is_own, no_name
from optsched.problem import (
    Family,
    Frozen,
    Information,
    InputError,
    Instance,
    Policy,
    PolicyError,
    Prior,
    Recorder,
    Schedule,
    Verdict,
    completed,
    family_of,
    get_family,
    moment,
)
from optsched.process import interrupts, messages, timing
from optsched.process.errors import Explained, kind_of
from optsched.process.limit import checked_limit, limited
from optsched.sandbox.process import SEAL, SealedPolicy, is_program

FUTURE = "future"  # prior knowledge of a policy with foresight
MOST = 3  # violated equations that are reported for a policy


class Run(Frozen):
    """Run of a policy on an instance."""

    family: str
    instance_sha256: str
    policy: str
    information: Information = Field(description="information of the policy at its decisions")
    seed: int
    schedule: SerializeAsAny[Schedule]
    value: Signed = Field(description="objective, as the feasibility check computes it")
    obeys: bool = Field(
        default=True, description="it keeps to the model; else it was evaluated by its own rules"
    )
    completion: tuple[int | None, ...] = Field(
        default=(), description="completion slot of each job; empty where no jobs complete"
    )
    prior: dict[str, Any] = Field(
        description="prior knowledge of the policy, by the names it requested; own:... is a "
        "statistic from outside"
    )
    sealed: bool = Field(default=False, description="it ran in a process of its own")
    guards: tuple[str, ...] = Field(
        default=(), description="guards of the sandbox: files, memory, ..."
    )
    decision_limit: float | None = Field(
        default=None, gt=0, description="seconds that each decision was allowed; None: no limit"
    )
    guarantee: float | None = Field(description="the theory's bound on the ratio for this instance")
    seconds: float = Field(ge=0, description="time that the policy took for all decisions")
    slowest: float = Field(ge=0, description="time of its slowest decision, s")

    @field_validator("policy")
    @classmethod
    def _can_name_a_row(cls, value: str, info: ValidationInfo) -> str:
        why = no_name(get_family(info.data["family"]), value, own=True)
        if why is not None:
            raise ValueError(why)
        return value

    _of_family = field_validator("schedule", mode="before")(of_family)

    def __repr__(self) -> str:
        return f"<Run {self}>"

    def __str__(self) -> str:
        parts = [
            f"{self.family}: {self.policy} reaches {self.value:.6g}",
            *completed(self.completion),
            f"decided in {self.seconds:.3f} s",
            self.seal,
        ]
        known = [*([FUTURE] if self.foresight else []), *self.own]
        if known:
            parts.append(f"knows {', '.join(known)}")
        return ", ".join(parts)

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints: all but the schedule."""
        done = sum(c is not None for c in self.completion) if self.completion else None
        content = self.model_dump(mode="json", exclude={"schedule", "completion"})
        return content | {
            "jobs": len(self.completion) or None,
            "completed": done,
            "seal": self.seal,
        }

    @property
    def informed(self) -> str:
        """When the policy decided, and whether it knew the future, such as `lookahead`."""
        return f"{self.information}, future" if self.foresight else self.information

    @property
    def foresight(self) -> bool:
        """Whether the policy knew something of jobs before they arrived.

        The family's own policies use what they know of a job only once it has arrived.
        """
        family = get_family(self.family)
        ahead = () if self.policy in family.policies else family.ahead
        return not self.prior.keys().isdisjoint((FUTURE, *ahead))

    @property
    def own(self) -> tuple[str, ...]:
        """Statistics from outside that the policy knew."""
        return own(self.prior)

    @property
    def seal(self) -> str:
        """Whether it ran in a sandbox, in words, with the guards that were missing."""
        return seal(sealed=self.sealed, guards=self.guards)


def seal(*, sealed: bool, guards: Sequence[str]) -> str:
    """Return whether a policy ran in a sandbox, in words, with the guards that were missing."""
    missing = [guard for guard in SEAL if guard not in guards]
    if not sealed:
        return "no sandbox"
    return f"sandbox: partial, without {', '.join(missing)}" if missing else "sandbox"


class _Collector:
    """Keeps all decisions, and has them checked when the run is over."""

    def __init__(self, family: Family, instance: Instance) -> None:
        self._family, self._instance = family, instance
        self._played: list[tuple[Any, Any]] = []

    def take(self, event: Any, decision: Any) -> None:
        self._played.append((event, decision))

    def finish(self) -> tuple[Schedule, Verdict]:
        schedule = self._family.assemble(self._instance, self._played)
        return schedule, self._family.verify(self._instance, schedule, unfinished=True)


def recorder_of(family: Family, instance: Instance, policy: Policy) -> Recorder:
    """Return what takes the decisions of a policy and has them checked in the end."""
    if family.recorder is None:
        return _Collector(family, instance)
    return family.recorder(instance, policy)


def _must_be_few(instance: Instance, decision: Any) -> None:
    """Refuse a decision on more jobs than there are, before it is kept.

    Raises
    ------
    ValueError
        It is one.
    """
    jobs = getattr(instance, "jobs", None)
    if (
        isinstance(jobs, tuple)
        and isinstance(decision, Mapping | tuple)
        and len(decision) > len(jobs)
    ):
        raise ValueError(f"is on {len(decision)} jobs, expected no more than there are")


@renamed_arguments(sealed="sandbox")
@interrupts.remembered()
def simulate(
    instance: Instance,
    policy: Policy | str,
    *,
    seed: int = 0,
    prior: Prior | None = None,
    sandbox: bool = False,
    decision_limit: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run ``policy`` online on ``instance``.

    Parameters
    ----------
    instance : Instance
    policy : Policy or str
        A policy, or the name of one. ``exec:COMMAND`` is a program in any language.
    seed : int
        Seed of the policy's random streams.
    prior : mapping, optional
        Values for exactly the names that the policy requests; by default the family computes them.
        With a prior that is handed in, no guarantee is stated.
    sandbox : bool
        Run the policy in a separate process, which receives events and nothing else. Takes the
        name of a policy; a program always runs in a sandbox.
    decision_limit : float, optional
        Seconds for each decision, and for the start. By default 600 in a sandbox, else none. In
        this process the limit works in the main thread only, and only where the policy runs Python;
        a policy that catches every exception in a loop outlives it. Import, constructor and the
        compilation of kernels have no limit there. Output of the policy goes to stderr.
    progress : callable, optional
        Called with the number of events done.

    Returns
    -------
    Run
        Its value is that of the feasibility check. A job that is unfinished at the end earns
        nothing.

    Raises
    ------
    InputError
        The instance cannot be played, or there is no such policy.
    PolicyError
        The policy fails, requests an unknown statistic, breaks the model or changes the instance.
    KeyboardInterrupt
        After Ctrl-C, between two events.
    """
    family = family_of(instance)
    original = Original(instance)
    family.current(instance)
    family.playable(instance)
    sandbox = sandbox or is_program(policy)
    checked_limit(decision_limit, sandbox=sandbox)
    with ExitStack() as stack:
        stack.enter_context(messages.diverted())
        if sandbox:
            chosen: Policy = stack.enter_context(
                SealedPolicy(family, policy, decision_limit=decision_limit)
            )
        elif isinstance(policy, str):
            chosen = get_policy(family, policy)
        else:
            chosen = policy
        own = policy in family.policies if isinstance(policy, str) else is_own(family, policy)
        return _run(family, original, chosen, seed, prior, progress, decision_limit, own)


class Original:
    """An instance as it was before any policy ran, as text."""

    def __init__(self, instance: Instance) -> None:
        self._instance, self._text = instance, instance.model_dump_json()
        self.digest = instance.digest()

    def copy(self) -> Instance:
        """Read the instance from the text: no other code has this one."""
        return type(self._instance).model_validate_json(self._text)

    def must_be_unchanged(self, policy: str) -> None:
        """Refuse to go on with an instance that is another one now.

        Raises
        ------
        PolicyError
            Its digest is another one.
        """
        if self._instance.digest() != self.digest:
            raise PolicyError(f"policy {policy} has changed the instance, expected it to be left")


def _run(
    family: Family,
    original: Original,
    policy: Policy,
    seed: int,
    prior: Prior | None,
    progress: Callable[[int], None] | None,
    decision_limit: float | None,
    ours: bool,
) -> Run:
    sealed = isinstance(policy, SealedPolicy)
    limit = None if sealed else decision_limit  # the other end of a pipe keeps it itself
    with Explained(f"policy {kind_of(policy)}", InputError, limit=limit), limited(limit):
        called = str(getattr(policy, "name", kind_of(policy)))
        with blamed(own=ours):
            name, information, knows = introduced(family, policy, called, own=ours)
    if prior is not None:
        known = checked_prior(prior, knows, name)
    else:
        with Explained(f"policy {name}: what it knows", InputError), blamed(own=ours):
            known = compute(family, knows, original.copy, name)
    shown, evaluated = original.copy(), original.copy()
    passed = InputError if sealed or ours else PolicyError  # what is a message already
    raised = (InputError,) if sealed or ours else ()  # that of a policy from outside is none
    with Explained(f"policy {name}: start", *raised, limit=limit), limited(limit):
        policy.start(family.public(shown), deepcopy(known), Streams(seed))
    with Explained(f"policy {name}: start", passed):
        record = recorder_of(family, evaluated, policy)
    seconds, slowest = 0.0, 0.0
    revealed = answerable(family, family.events(shown, information))
    true = answerable(family, family.events(evaluated))
    event, true_event, done = next(revealed, None), next(true, None), 0
    while event is not None:
        interrupts.raise_if_interrupted()
        place = f"policy {name}: {moment(event, done)}"
        with Explained(place, *raised, limit=limit), limited(limit):
            began = timing.now()
            decision = policy.step(event)
            took = timing.now() - began
        seconds, slowest = seconds + took, max(slowest, took)
        try:
            late = Explained(f"{place}: its decision", ValueError, TypeError, limit=limit)
            with late, limited(limit):
                taken = decision if sealed else family.wire.take(decision)
                _must_be_few(evaluated, taken)
        except PolicyError:
            raise
        except (ValueError, TypeError) as err:
            raise PolicyError(f"{place}: the decision {err}") from err
        try:
            with Explained(f"{place}: its decision", passed, ValueError):
                record.take(true_event, taken)
        except InputError:
            raise
        except ValueError as err:
            raise PolicyError(f"policy {name}: {err}") from err
        event, true_event, done = following(revealed, taken), following(true, taken), done + 1
        if progress is not None:
            progress(done)
    original.must_be_unchanged(name)
    try:
        with Explained(f"policy {name}: its decisions", ValueError):
            schedule, verdict = record.finish()
    except ValueError as err:
        if isinstance(err, PolicyError):
            raise
        raise PolicyError(f"policy {name}: {err}") from err
    if verdict.value is None:
        raise PolicyError(f"policy {name} broke the model: {_first_of(verdict)}")
    return Run(
        family=family.name,
        instance_sha256=original.digest,
        policy=name,
        information=information,
        seed=seed,
        schedule=schedule,
        value=verdict.value,
        obeys=verdict.obeys,
        completion=verdict.completion,
        prior=known,
        sealed=sealed,
        guards=getattr(policy, "guards", ()) if sealed else (),
        decision_limit=getattr(policy, "limit", None) if sealed else limit,
        guarantee=family.guarantee(evaluated, name, known) if ours and prior is None else None,
        seconds=seconds,
        slowest=slowest,
    )


def answerable(family: Family, events: Iterable[Any]) -> Generator[Any, Any, None]:
    """Return the events of a run, which take decisions; non-reactive policies receive none."""
    if family.reactive:
        return cast(Generator[Any, Any, None], events)
    return (event for event in events)


def following(events: Generator[Any, Any, None], decision: Any) -> Any:
    """Return the next event after a decision; None: no further event."""
    try:
        return events.send(decision)
    except StopIteration:
        return None


def _first_of(verdict: Verdict) -> str:
    """Return a verdict in a few lines: the first equations that are broken."""
    more = len(verdict.violations) - MOST
    lines = str(verdict).splitlines()[: MOST + 1]
    return "\n  ".join([*map(str.strip, lines), *([f"and {more} more"] if more > 0 else [])])
