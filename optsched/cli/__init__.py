"""The command line: start and end, commands, options, output."""
