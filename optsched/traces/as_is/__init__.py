"""A trace as it is: nothing of it is scaled, and what its cluster did with it."""
