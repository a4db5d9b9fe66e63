"""Declared problems: a linear program with times; everything else is derived from it."""
