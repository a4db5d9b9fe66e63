"""The declarative programs, one file per family."""
