"""Branching trees: nodes, what to split, and when a relaxation is a schedule."""
