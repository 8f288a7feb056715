"""Forest plots as data and in words; `plots` draws them with matplotlib, an extra."""

from .forest import ForestPlot, StudyEffect, make_forest_plots, write_estimate

__all__ = ["ForestPlot", "StudyEffect", "make_forest_plots", "write_estimate"]
