"""Pricing subproblem of one job whose workers and parameter servers use separate machines."""
