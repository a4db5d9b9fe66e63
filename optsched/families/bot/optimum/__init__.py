"""How the optimum is found: methods, and what they are put together from."""
