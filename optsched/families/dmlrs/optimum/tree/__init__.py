"""Branching: nodes, branching rules, and when a relaxation is a schedule."""
