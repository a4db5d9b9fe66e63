"""Certificates: their format, and a checker that imports nothing from methods or solvers."""
