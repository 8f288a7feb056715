"""Parts of pages that commands write stand between their marks, and nothing else moves."""

from pathlib import Path

import pytest
from benchmarks import cost_figures, installs, readme
from benchmarks.marked import replace_part

PLACES = [
    *((cost_figures.PAGE, f"figures:{name}") for name in cost_figures.PARTS),
    (installs.PAGE, "installs"),
    (readme.README, "excerpt"),
]


@pytest.mark.parametrize(("page", "name"), PLACES, ids=[name for _, name in PLACES])
def test_each_part_has_its_place_and_the_rest_of_its_page_stays(page: Path, name: str) -> None:
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"

    written = replace_part(text, name, "| a | b |\n")

    assert written == f"{text.partition(begin)[0]}{begin}| a | b |\n{end}{text.partition(end)[2]}"
    assert replace_part(written, name, "| a | b |") == written


def test_a_page_without_the_marks_is_not_written() -> None:
    with pytest.raises(ValueError, match="no place for 'installs'"):
        replace_part("# Why\n", "installs", "| none |\n")
