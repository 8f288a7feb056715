"""Pictures of a report for pages, Word documents and notebooks; they need matplotlib, an extra."""
