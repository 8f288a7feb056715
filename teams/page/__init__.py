"""The page: `willowbark serve`, a browser's way to runs, their reports and their history."""
