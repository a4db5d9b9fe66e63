"""The process: timing, signals, the state left by a crash, messages, and work units."""
