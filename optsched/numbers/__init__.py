"""Exact amounts, magnitudes of whole numbers, utilities, random streams, compiled functions."""
