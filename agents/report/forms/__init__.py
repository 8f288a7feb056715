"""The forms of a report: the tree of blocks, and what writes it as Markdown and HTML."""
