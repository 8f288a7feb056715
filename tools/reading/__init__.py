"""Reading records: extract what each one reports about a drug."""
