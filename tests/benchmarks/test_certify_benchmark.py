"""The benchmark of certified models on tiny settings."""

import json

import certify
import pytest

pytestmark = pytest.mark.slow


def test_time_and_size_are_measured(tmp_path):
    words = ["--results", str(tmp_path), "--kinds", "integer", "linear", "--models", "set cover"]
    certify.main([*words, "--queries", "40"])
    content = json.loads((tmp_path / "certify.json").read_text())
    assert content["complete"]
    assert len(content["rows"]) == 4
    assert all(row["closed"] and row["kB"] and row["VIPR kB"] for row in content["rows"])
    assert content["figures"] == {"claims of HiGHS that are contradicted": 0}
    share, _ = content["targets"]
    assert share["measured"] == 1


@pytest.mark.parametrize("model", list(certify.MODELS))
def test_the_models_are_drawn_from_their_number_alone(model):
    for number, make in enumerate(certify.MODELS[model]):
        rng = certify.np.random.default_rng
        assert make(rng(number)).text() == make(rng(number)).text()
