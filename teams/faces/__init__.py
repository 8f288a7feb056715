"""Faces: the command line, notebooks, AutoGen Studio."""
