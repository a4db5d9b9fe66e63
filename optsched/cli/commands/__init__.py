"""The commands: what makes instances, what computes, what looks at files."""
