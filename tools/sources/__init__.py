"""The sources, one file each, in folders by type of record."""
