"""Result files: reading, reuse, journal of a running search, export."""
