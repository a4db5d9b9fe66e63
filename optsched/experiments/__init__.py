"""Campaigns: many policies on many instances, killed and resumed, with honest statistics.

plan and axes state what the cells are and what their keys; cells computes one; pool
and executors compute many;
run combines the two, and puts the results into the store; statistics, campaign and export
state what is in there. calls is the plain kind: one function on many cells, for figures of papers
and benchmarks.
"""
