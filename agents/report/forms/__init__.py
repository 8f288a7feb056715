"""The forms of a report: the tree of blocks that is built from it once, and the renderers of that tree."""
