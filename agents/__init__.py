"""The agents: specialists, the judge, the report agent and the analyst that needs no language model."""
