"""The best schedule of one job at prices."""
