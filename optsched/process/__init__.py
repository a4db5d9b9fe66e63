"""The process at work: its clock, its signals, its last words, how much it prints."""
