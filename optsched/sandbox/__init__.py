"""Sandboxed policies: separate processes, which receive events and nothing else."""
