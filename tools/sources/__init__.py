"""The sources: one file each, in folders by what their records are."""
