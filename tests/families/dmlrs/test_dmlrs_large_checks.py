"""What the checker leaves out where there are thousands of jobs changes no bound."""

import numpy as np
import pytest

from optsched.families.dmlrs import FAMILY
from optsched.families.dmlrs.certificate import bound
from optsched.families.dmlrs.certificate.check import check
from optsched.families.dmlrs.optimum.build_certificate import certify_capacity
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation


@pytest.mark.parametrize("seed", range(4))
def test_slots_that_are_not_looked_at_hold_nothing_better(monkeypatch, seed):
    inst = FAMILY.generate("contended", jobs=12, slots=60, machines=6, seed=seed)
    problem = CapacityRelaxation(inst)
    rng = np.random.default_rng(seed)
    worth = sum(job.utility(0) for job in inst.jobs) / np.maximum(problem.rhs, 1.0)
    # dear slots come first, so that many jobs had better wait
    falling = np.linspace(3.0, 0.0, problem.rhs.size) ** 3 * rng.uniform(0.5, 1.5, problem.rhs.size)
    certificate = certify_capacity(problem, 5e-5 * worth * falling)
    told = {}
    monkeypatch.setattr(bound.LeafBounds, "_best_by", noting(bound.LeafBounds._best_by, told))
    monkeypatch.setattr(bound, "FEW", 1)
    few = check(inst, certificate)
    short = [told[i][-1] < inst.horizon - job.arrival for i, job in enumerate(inst.jobs)]
    assert any(short)
    assert any(len(asked) > 2 for asked in told.values())  # some had to be looked at further
    monkeypatch.setattr(bound, "FEW", inst.horizon)
    assert check(inst, certificate) == few


def noting(method, told):
    """Return a method that notes for how many slots of each job it is requested."""

    def noted(self, i, priced, what, slots, floor):
        told.setdefault(i, []).append(slots)
        return method(self, i, priced, what, slots, floor)

    return noted
