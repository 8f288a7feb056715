"""What the agents use: the public sources, evidence and its identity, search, appraisal."""
