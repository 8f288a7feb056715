"""The forms of a report: the tree of blocks, and its renderers for Markdown and HTML."""
