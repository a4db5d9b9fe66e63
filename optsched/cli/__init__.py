"""The command line: how it begins and ends, what commands take, and what they print."""
