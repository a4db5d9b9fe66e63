"""Family-independent methods: column generation, branch and price, local search, progress."""
