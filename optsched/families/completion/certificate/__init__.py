"""Certificates: their format, and a checker that imports nothing from methods or solvers.

`check.check` is the check of the dual bound's certificate.
"""
