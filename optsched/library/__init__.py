"""Instances with their optima and certificates: packs of results, derived tables, submissions."""
