"""Pictures of a report for pages, Word documents and notebooks. They need matplotlib, an extra."""
