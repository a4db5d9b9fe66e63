"""Pricing subproblem of one job of `completion`, on classes of servers or on single servers."""
