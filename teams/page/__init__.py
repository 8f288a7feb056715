"""The web interface, `willowbark serve`: start runs, read reports, browse earlier runs."""
