"""Relaxations: Dantzig-Wolfe decompositions, cutting planes, and their pricing subproblems."""
