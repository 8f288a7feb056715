"""The sources: one file each."""
