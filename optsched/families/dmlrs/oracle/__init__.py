"""Pricing subproblem of one job of `dmlrs`, whose workers and PS share machines."""
