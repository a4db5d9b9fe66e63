"""Primal-dual interior-point method on a tree."""
