"""What is kept of a time limit for the check of a bound at prices."""

import numpy as np
import pytest
from independent.dmlrs import tiny
from patience import LONG

from optsched.engine.progress import Progress
from optsched.families.dmlrs import FAMILY
from optsched.families.dmlrs.certificate.bound import LeafBounds
from optsched.families.dmlrs.optimum import build_certificate, methods
from optsched.families.dmlrs.optimum.build_certificate import check_seconds
from optsched.families.dmlrs.optimum.methods import AutoParams, _Portfolio
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.sources.presets import generate


def search(**limits):
    """Return a search that is about to report its second bound."""
    inst = generate("contended", seed=0, jobs=10, machines=4)
    found = _Portfolio(inst, Progress(FAMILY, inst, gap=0.0, **limits), 1, 0)
    found.prove(1e6, np.full(found.capacity.rhs.size, 1e-6))
    found.sampling = -1.0
    return found


def report(search):
    search.prove(1e5, np.full(search.capacity.rhs.size, 1e-5))
    assert not search.stop()


@pytest.mark.parametrize("sample", [1, 3, 10, 40])
def test_a_check_takes_as_long_as_that_of_some_jobs_times_all(sample, monkeypatch):
    """Every payoff takes a second: this many are computed as there are jobs in the certificate."""
    asked = []
    monkeypatch.setattr(build_certificate, "busy", lambda: float(len(asked)))
    monkeypatch.setattr(LeafBounds, "payoff", lambda *words: asked.append(words[1]))
    blocks = CapacityRelaxation(generate("contended", seed=0, jobs=10, machines=4))
    assert check_seconds(blocks, np.zeros(blocks.rhs.size), sample) == 10
    assert len(asked) >= min(10, sample)
    assert len({*np.diff(asked)}) <= 1


def test_the_sample_computes_what_the_checker_does(monkeypatch):
    inst = tiny(1)
    blocks = CapacityRelaxation(inst)
    prices = np.random.default_rng(0).uniform(0.0, 1e-3, blocks.rhs.size)
    found: dict[str, list[int | None]] = {"check": [], "sample": []}
    payoff = LeafBounds.payoff
    for name, ask in (
        ("check", lambda: FAMILY.check(inst, build_certificate.certify_capacity(blocks, prices))),
        ("sample", lambda: check_seconds(blocks, prices, len(inst.jobs))),
    ):

        def noted(self, *words, out=found[name]):
            out.append(payoff(self, *words))
            return out[-1]

        monkeypatch.setattr(LeafBounds, "payoff", noted)
        ask()
    assert found["sample"] == found["check"]
    assert any(found["check"])


def test_what_a_check_takes_is_kept(monkeypatch):
    monkeypatch.setattr(methods, "check_seconds", lambda *_: LONG / 100)
    found = search(time_limit=LONG)
    report(found)
    assert found.reserve.seconds() == pytest.approx(AutoParams.margin * LONG / 100, rel=0.5)
    assert found.sampling >= 0


def test_nothing_is_looked_at_under_effort(monkeypatch):
    monkeypatch.setattr(methods, "check_seconds", lambda *_: pytest.fail("asked"))
    report(search(time_limit=LONG, units=1e9))


def test_what_was_checked_takes_no_time_at_the_end():
    found = search(time_limit=LONG)
    report(found)
    assert found.proving > 0
    found.confirm()
    assert found.progress.checked is not None
    assert not found.stop()
    assert found.reserve.seconds() == 0
