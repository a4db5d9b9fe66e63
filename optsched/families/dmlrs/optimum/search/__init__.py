"""Primal heuristics: searches for good schedules."""
