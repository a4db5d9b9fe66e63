"""What the judges of several families share: trees, grids, one knapsack; no solver may use it."""
