"""The grids of the baselines: defaults are the policies' own, and scores are parts of the best."""

import inspect
import json

import baseline_grids as grids
import numpy as np
import pytest
from bench import RESULTS

pytestmark = pytest.mark.slow


def test_defaults_are_those_of_the_policies():
    for key, (policy, grid) in grids.GRIDS.items():
        parameters = inspect.signature(policy).parameters
        assert grids.DEFAULTS[key] == {name: parameters[name].default for name in grid}, key
        assert grids.DEFAULTS[key] in grids.settings(key), key


def test_scores_are_parts_of_the_best_of_an_instance():
    found = grids.scores([[1.0, 2.0], [4.0, 1.0], [0.0, 0.0]], less=False)
    np.testing.assert_array_equal(found, [[0.5, 1.0], [1.0, 0.25]])
    found = grids.scores([[1.0, 2.0], [4.0, 1.0]], less=True)
    np.testing.assert_array_equal(found, [[1.0, 0.25], [0.5, 1.0]])


def test_all_grids_are_stored():
    stored = json.loads((RESULTS / "baseline_grids.json").read_text())
    assert stored["complete"]
    for (family, policy), (_, grid) in grids.GRIDS.items():
        tried = stored["figures"][f"{family} {policy}"]
        scored = [{name: x for name, x in row.items() if name != "score"} for row in tried]
        assert scored == grids.settings((family, policy))
        assert set(grid) == set(scored[0])
        seeds = {
            r["seed"] for r in stored["rows"] if (r["family"], r["policy"]) == (family, policy)
        }
        assert len(seeds) >= 10
