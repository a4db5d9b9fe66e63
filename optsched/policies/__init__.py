"""Policies from anywhere: how they are found, what they know, how they are spoken to."""
