"""Column generation, branch and price, neighbourhood search; what a method has found so far."""
