"""Parts of pages that commands write: between `<!-- NAME:begin -->` and `<!-- NAME:end -->`."""


def replace_part(page: str, name: str, text: str) -> str:
    """Return a page with another text between the marks of a part.

    Raises:
        ValueError: the page has no such marks.
    """
    begin = f"<!-- {name}:begin -->\n"
    end = f"<!-- {name}:end -->"
    before, opening, rest = page.partition(begin)
    _, closing, after = rest.partition(end)
    if not opening or not closing:
        raise ValueError(f"the page has no place for {name!r}: {begin.strip()} and {end}")
    return f"{before}{begin}{text.rstrip()}\n{end}{after}"
