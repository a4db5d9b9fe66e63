"""State of the local search: how jobs run on single servers, and insertion of one more."""
