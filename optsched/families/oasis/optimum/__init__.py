"""How the optimum of `oasis` is found: methods by name, and their building blocks."""
