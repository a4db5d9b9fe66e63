"""Proofs by the program over time."""
