"""The five families, one folder each."""
