"""Readers of real trace formats: `read_jobs` and `read_machines` return tables."""

from optsched.traces.jobs import read_jobs
from optsched.traces.machines import read_machines
from optsched.traces.tables import Tables, read_tables, reading, seconds

__all__ = ["Tables", "read_jobs", "read_machines", "read_tables", "reading", "seconds"]
