"""The figures of the documentation are written where they stand, and nowhere else."""

import pytest
from benchmarks.cost_figures import PAGE, PARTS, replace_part


@pytest.mark.parametrize("name", PARTS)
def test_each_part_has_its_place_on_the_page(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    written = replace_part(page, name, "| a | b |")
    lines = written.splitlines()
    at = lines.index(f"<!-- figures:{name}:begin -->")

    assert lines[at : at + 3] == [f"<!-- figures:{name}:begin -->", "| a | b |", f"<!-- figures:{name}:end -->"]
    assert replace_part(written, name, "| a | b |") == written
    assert lines[:at] == page.splitlines()[:at]


def test_a_page_without_the_marks_of_a_part_is_left_alone() -> None:
    with pytest.raises(ValueError, match="no place for the figures 'runs'"):
        replace_part("# A page", "runs", "| a | b |")
