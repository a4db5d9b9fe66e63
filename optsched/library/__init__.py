"""Instances with their optima and proofs: packs of results, what is derived of them, changes."""
