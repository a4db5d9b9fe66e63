"""Policies in a process of their own, which is told events and nothing else."""
