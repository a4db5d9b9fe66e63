"""Policies of family `rigid`: queues, backfilling, priorities."""
