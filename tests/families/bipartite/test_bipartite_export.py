"""The exported program, solved by another solver, has the optimum that `solve` finds."""

import numpy as np
import pytest
from independent.bipartite import FILES, load
from independent.conic import optimum

from optsched.core import solve
from optsched.families.bipartite.sources.presets import generate
from optsched.models import bipartite
from optsched.models.bipartite import bipartite_program, channels_with_jobs
from optsched.problem import InputError
from optsched.results.export import Format, write_program


def exported(inst, path):
    write_program(inst, path, Format.CBF)
    return optimum(path.read_text())


@pytest.mark.parametrize("path", FILES[:4], ids=lambda p: p.stem)
def test_a_reference_file(path, tmp_path):
    inst, known = load(path)
    inst = inst.model_copy(update={"arrivals": inst.arrivals[:5], "horizon": 5})
    inst = type(inst).model_validate(inst.model_dump())
    found = solve(inst)
    assert found.status == "optimal"
    assert found.value == pytest.approx(sum(known["per_slot"]["value"][:5]), rel=1e-6)
    assert exported(inst, tmp_path / "x.cbf") == pytest.approx(found.value, rel=2e-6)


@pytest.mark.parametrize("preset", ["small", "counts"])
def test_the_file_asks_for_the_best_of_every_slot_not_for_one_decision(preset, tmp_path):
    inst = generate(preset, seed=0, slots=10)
    best, still = solve(inst), solve(inst, method="stationary")
    assert still.bound < 0.99 * best.value
    assert exported(inst, tmp_path / "x.cbf") == pytest.approx(best.value, rel=2e-6)


def test_a_decision_for_every_pattern_and_none_for_who_has_no_job():
    inst = generate("small", seed=0)
    patterns, which = inst.patterns
    decision, channel = channels_with_jobs(inst)
    (y,) = bipartite_program(inst).variables()
    assert y.shape == channel.shape
    assert set(decision) == {p for p in range(len(patterns)) if patterns[p].any()}
    assert patterns[decision, inst.arrays.port[channel]].all()
    degrees = np.bincount(inst.arrays.port, minlength=inst.arrays.copies)
    assert len(channel) == int((patterns @ degrees).sum())
    assert len(which) == inst.horizon


def test_too_large_a_program_is_refused(monkeypatch, tmp_path):
    inst = generate("small", seed=0)
    monkeypatch.setattr(bipartite, "MOST_VARIABLES", 100)
    with pytest.raises(InputError, match=r"has 216 variables, expected at most 100: take fewer"):
        write_program(inst, tmp_path / "x.cbf", Format.CBF)
    assert not list(tmp_path.iterdir())
