"""The clock and the accounts of an online run; a policy cannot see the future."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from optsched.problem import (
    Family,
    Frozen,
    Information,
    Instance,
    Policy,
    Prior,
    Recorder,
    Schedule,
    Signed,
    Verdict,
    completed,
    family_of,
    get_family,
    get_policy,
)
from optsched.streams import Streams


class Run(Frozen):
    """What a policy did on an instance."""

    family: str
    instance_sha256: str
    policy: str
    information: Information = Field(description="what the policy knew when it decided")
    seed: int
    schedule: SerializeAsAny[Schedule]
    value: Signed = Field(description="objective, as the judge computes it")
    obeys: bool = Field(
        default=True, description="it keeps to the model; else it was judged by rules of its own"
    )
    completion: tuple[int | None, ...] = Field(
        default=(), description="completion slot of each job; empty where no jobs complete"
    )
    prior: dict[str, Any] = Field(description="declared knowledge beforehand")
    guarantee: float | None = Field(description="the theory's bound on the ratio for this instance")
    seconds: float = Field(description="time that the policy took for all decisions")
    slowest: float = Field(description="time of its slowest decision, s")

    @field_validator("schedule", mode="before")
    @classmethod
    def _of_the_family(cls, value: Any, info: ValidationInfo) -> Any:
        return (
            value
            if isinstance(value, Schedule)
            else get_family(info.data["family"]).schedule.model_validate(value)
        )

    def __str__(self) -> str:
        parts = [
            f"{self.family}: {self.policy} reaches {self.value:.6g}",
            *completed(self.completion),
            f"decided in {self.seconds:.3f} s",
        ]
        return ", ".join(parts)


class _Collector:
    """Keeps all decisions, and has them judged when the run is over."""

    def __init__(self, family: Family, instance: Instance) -> None:
        self._family, self._instance = family, instance
        self._played: list[tuple[Any, Any]] = []

    def take(self, event: Any, decision: Any) -> None:
        self._played.append((event, decision))

    def finish(self) -> tuple[Schedule, Verdict]:
        schedule = self._family.assemble(self._instance, self._played)
        return schedule, self._family.verify(self._instance, schedule, unfinished=True)


def simulate(
    instance: Instance,
    policy: Policy | str,
    *,
    seed: int = 0,
    prior: Prior | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run ``policy`` online on ``instance``.

    Parameters
    ----------
    instance : Instance
    policy : Policy or str
        A policy, or the name of one.
    seed : int
        Seed of the policy's random streams.
    prior : mapping, optional
        The declared knowledge beforehand; by default the policy computes it from the whole
        instance.
    progress : callable, optional
        Called with the number of events done.

    Returns
    -------
    Run
        Its value is the judge's. A job that is unfinished at the end earns nothing.

    Raises
    ------
    RuntimeError
        The judge rejects what the policy did.
    """
    family = family_of(instance)
    if isinstance(policy, str):
        policy = get_policy(family, policy)
    known = dict(policy.prior(instance) if prior is None else prior)
    policy.start(family.public(instance), known, Streams(seed))
    record: Recorder = (
        _Collector(family, instance)
        if family.recorder is None
        else family.recorder(instance, policy)
    )
    seconds, slowest = 0.0, 0.0
    for done, event in enumerate(family.events(instance)):
        began = time.perf_counter()
        decision = policy.step(event)
        took = time.perf_counter() - began
        seconds, slowest = seconds + took, max(slowest, took)
        record.take(event, decision)
        if progress is not None:
            progress(done + 1)
    schedule, verdict = record.finish()
    if verdict.value is None:
        raise RuntimeError(f"policy {policy.name} broke the model: {verdict}")
    return Run(
        family=family.name,
        instance_sha256=instance.digest(),
        policy=policy.name,
        information=policy.information,
        seed=seed,
        schedule=schedule,
        value=verdict.value,
        obeys=verdict.obeys,
        completion=verdict.completion,
        prior=known,
        guarantee=family.guarantee(instance, policy.name, known),
        seconds=seconds,
        slowest=slowest,
    )
