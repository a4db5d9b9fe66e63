"""Relaxations: Dantzig-Wolfe decompositions and their pricing subproblems."""
