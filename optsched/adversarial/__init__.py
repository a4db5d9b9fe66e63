"""Hunts: instances inside a declared space on which a policy is much worse than the best."""
