"""The interior-point method on a tree."""
