"""How the optimum of `dmlrs` is found: methods by name, and their building blocks."""
