"""Reading records: what their sentences say of a drug."""
