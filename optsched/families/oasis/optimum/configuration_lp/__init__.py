"""Large neighborhood search on a configuration LP over whole slots of `oasis`."""
