"""Shared by the judges and checkers of several families; no solver may use it."""
