"""Readers of real trace formats: `read_jobs` and `read_machines` return tables."""

from optsched.traces.jobs import read_jobs
from optsched.traces.machines import read_machines

__all__ = ["read_jobs", "read_machines"]
