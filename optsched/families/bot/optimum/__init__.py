"""How the optimum of `bot` is found: methods by name, and their building blocks."""
