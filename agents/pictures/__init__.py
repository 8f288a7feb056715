"""Pictures of a report: one set for its page, its Word document and notebooks. They need matplotlib, an extra."""
