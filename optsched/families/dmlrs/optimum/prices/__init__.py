"""Decompositions: prices, and what answers them."""
