"""Certificates: their format, and a checker that shares no code with the solvers."""
