"""The sources, one file each, in folders by type of record: studies, drugs, labels.

A source is a card (hosts, limits, what it is good for) and a class that turns a query into records; `search.py` asks
it, `lookups.py` serves those that answer names, and `publications.py` holds what the readers of publications share.
"""
