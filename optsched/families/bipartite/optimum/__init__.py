"""How the optimum of `bipartite` is found: methods by name, and their building blocks."""
