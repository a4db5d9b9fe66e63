"""How the optimum of `rigid` is found: methods by name, and their building blocks."""
