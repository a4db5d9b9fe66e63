"""Whoever computes tasks (this process, processes of its own, executors of others), and what for.

crew says what they have in common, queue what is handed out and comes back; neither knows what a
task is about.
"""
