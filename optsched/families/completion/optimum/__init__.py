"""How the optimum of `completion` is found: methods by name, and their building blocks."""
