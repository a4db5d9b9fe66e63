"""Hunts: instances inside a declared box on which a policy is much worse than the best."""
