"""Traces without scaling, and the recorded schedule of their cluster."""
