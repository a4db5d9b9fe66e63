"""Published formats of lists of jobs and machines, by the columns that they need."""
