"""A report at a glance as data and in words: effect estimates, certainty by drug, studies by year.

`plots` draws it with matplotlib, an extra. A panel that has nothing to show is left out.
"""

from base64 import b64encode
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Literal

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file

from .panels import Panels

MOST_ESTIMATES = 25  # rows of a legible panel
MOST_DRUGS = 20  # likewise
_FORMS: dict[str, Literal["svg", "png"]] = {".svg": "svg", ".png": "png"}


class Overview(Panels):
    """A report at a glance; a notebook shows the picture."""

    @property
    def name(self) -> str:
        """Name of the picture among those of a report."""
        return "overview"

    @property
    def caption(self) -> str:
        """Caption that says what is drawn."""
        drawn = {
            "estimates": "ratios as reported, with intervals; outcomes and comparators differ, so nothing is pooled",
            "certainty": "certainty that each drug helps, by GRADE",
            "years": "results by year of publication",
        }
        words = "; ".join(drawn[name] for name in self.panels)
        return f"{words[:1].upper()}{words[1:]}."

    def shortened(self, most: int, least_effects: int) -> "Overview":
        """Return one panel with at most so many rows: the estimates if they are enough, else the certainties."""
        if len(self.effects) >= least_effects:
            return replace(self, effects=self.effects[:most], certainties=(), years=())
        return replace(self, effects=(), certainties=self.certainties[:most], years=())

    @property
    def description(self) -> str:
        """The picture in words."""
        effects = [f"{e.drug}, {e.study}: {e.measure} {e.value:g} ({e.low:g} to {e.high:g})" for e in self.effects]
        levels = [f"{c.drug} {c.level}" for c in self.certainties]
        years = [f"{year.year}: {sum(year[1:])}" for year in self.years]
        named = {"Effect estimates": effects, "Certainty": levels, "Studies by year": years}
        return " ".join(f"{name}: {'; '.join(parts)}." for name, parts in named.items() if parts)

    def draw(self, form: Literal["svg", "png"] = "svg") -> bytes:
        """Draw it; the same overview gives the same bytes."""
        from .plots import draw_overview  # noqa: PLC0415  an extra, and slow

        return draw_overview(self, form)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file that ends in `.svg` or `.png`, and return its path.

        Raises:
            UsageError: another ending, or the folder cannot be written to.
        """
        file = Path(path)
        form = _FORMS.get(file.suffix.lower())
        if form is None:
            raise UsageError(f"{file.name}: a picture is saved as .svg or .png")
        return write_file(file, self.draw(form), "; name another file")

    def _repr_html_(self) -> str:
        svg = b64encode(self.draw("svg")).decode()
        return f'<img alt="{escape(self.description)}" src="data:image/svg+xml;base64,{svg}">'

    def _repr_png_(self) -> bytes:
        return self.draw("png")
