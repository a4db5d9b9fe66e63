"""The ablation: parameters switch mechanisms off, and what does not pay is counted."""

import ablation
import pytest


def row(without, seed, gap, seconds=1.0):
    return {"kind": "k", "without": without, "seed": seed, "gap": gap, "seconds": seconds}


@pytest.mark.parametrize("without", ["everything on", "fix and optimize"])
def test_an_instance_is_solved_without_a_mechanism(without):
    sizes = {"preset": "small", "jobs": 3, "slots": 4, "machines": 4}
    found = ablation.measure({"without": without, "seed": 0, "effort": 20_000.0} | sizes)
    assert found["gap"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("gap", "seconds", "wrong"), [(0.5, 1.0, 0), (0.01, 1.0, 1), (0.01, 9.0, 0), (None, 1.0, 0)]
)
def test_what_does_not_pay_is_counted(gap, seconds, wrong):
    rows = [row(ablation.ALL, 0, 0.01), row("fix and optimize", 0, gap, seconds)]
    summary = ablation.summarize(rows)
    assert [line[-1] for line in summary.lines] == ["stays", "stays"]
    assert summary.targets[0].measured == wrong


def test_rows_of_what_is_gone_are_kept_with_their_own_comparison():
    gone = row("gone", 0, 0.02) | {
        "decision": "went",
        "lines": 700,
        "beside": [row(ablation.ALL, 0, 0.01)],
    }
    summary = ablation.summarize([gone])
    assert summary.lines[0][:4] == ["gone", 700, "k", 1]
    assert summary.lines[0][4:] == ["1.00", 0, "1", "2.00", 0, "1", "went"]
