"""Gang scheduling (Sec. 3.5): a job has components, and runs only if enough of them can run.

The paper asks that at least m_l components get something. "Something" is no closed set, so every
component states a minimum: it counts if it gets that much of each resource, added up over machines.
A job that does not reach m_l components is not launched, and gets nothing.

    paper       here                              paper       here
    Q_l         gangs[l].components               m_l         gangs[l].at_least
    a_l^{q,k}   components[q].request             y^{q,k}     one line of a gang decision per q
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from optsched.families.bipartite.instance import BipartiteInstance, Floats
from optsched.problem import Frozen
from optsched.resources import Amount


class Component(Frozen):
    """A part of a job."""

    request: tuple[Amount, ...] = Field(description="a_l^{q,k}: most of a resource on one machine")
    minimum: tuple[Amount, ...] = Field(description="least of a resource, over all machines")


class Gang(Frozen):
    """What a job of one port consists of."""

    components: tuple[Component, ...] = Field(min_length=1)
    at_least: PositiveInt = Field(description="m_l: components that must run, or the job does not")


class GangInstance(Frozen):
    """An instance whose jobs are gangs; a port requests what its components request together."""

    base: BipartiteInstance
    gangs: tuple[Gang, ...] = Field(description="one for each port")

    @model_validator(mode="after")
    def _gangs_fit_the_ports(self) -> Self:
        ports, resources = self.base.ports, len(self.base.resources)
        if len(self.gangs) != len(ports):
            raise ValueError(
                f"{len(self.gangs)} gangs, expected one for each of {len(ports)} ports"
            )
        for i, (gang, port) in enumerate(zip(self.gangs, ports, strict=True)):
            if port.most_jobs > 1:
                raise ValueError(f"port {i}: most_jobs is {port.most_jobs}, expected 1 for gangs")
            if gang.at_least > len(gang.components):
                raise ValueError(
                    f"port {i}: at_least is {gang.at_least}, expected at most its "
                    f"{len(gang.components)} components"
                )
            for q, part in enumerate(gang.components):
                for name in ("request", "minimum"):
                    if len(getattr(part, name)) != resources:
                        raise ValueError(
                            f"port {i}, component {q}: {name} has {len(getattr(part, name))} "
                            f"entries, expected {resources}"
                        )
                if not any(part.minimum):
                    raise ValueError(
                        f"port {i}, component {q}: minimum is 0 throughout, "
                        "expected some amount that makes it count"
                    )
            asked = np.sum([part.request for part in gang.components], axis=0)
            if not np.allclose(asked, port.request, rtol=1e-9, atol=1e-9):
                raise ValueError(
                    f"port {i}: request is {list(port.request)}, expected what its components "
                    f"request together, {asked.tolist()}"
                )
        return self

    @cached_property
    def most(self) -> int:
        """Q: components of the job that has most."""
        return max(len(gang.components) for gang in self.gangs)

    @cached_property
    def requests(self) -> Floats:
        """a_l^{q,k}, shape (L, Q, K); 0 where a job has no such component."""
        return self._table("request")

    @cached_property
    def minima(self) -> Floats:
        """Least amounts, shape (L, Q, K)."""
        return self._table("minimum")

    def _table(self, name: str) -> Floats:
        table = np.zeros((len(self.gangs), self.most, len(self.base.resources)))
        for i, gang in enumerate(self.gangs):
            for q, part in enumerate(gang.components):
                table[i, q] = getattr(part, name)
        return table
