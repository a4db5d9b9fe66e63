"""Proofs by dynamic programming over time."""
