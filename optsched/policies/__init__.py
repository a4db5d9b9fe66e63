"""Policies: lookup, prior knowledge, interface."""
