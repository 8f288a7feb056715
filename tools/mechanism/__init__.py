"""From drug to target to process to disease: what databases and sentences of the records say of each step."""
