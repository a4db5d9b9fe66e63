"""Searches for good schedules."""
