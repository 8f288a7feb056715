"""Forest plots as data and in words; `plots` draws them with matplotlib, an extra."""

from .forest import ForestPlot, StudyEffect, estimate, forest_plots

__all__ = ["ForestPlot", "StudyEffect", "estimate", "forest_plots"]
