"""Published works: their versions, their standing, their full texts, and the trials they report."""
