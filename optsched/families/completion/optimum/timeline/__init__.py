"""The dynamic program over time."""
