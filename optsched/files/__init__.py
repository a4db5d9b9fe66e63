"""The envelope of every file, bytes to and from the disk, where numbers come from."""
