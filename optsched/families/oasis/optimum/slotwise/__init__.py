"""Better schedules of family `oasis` from a linear program over what whole slots host."""
