"""From a question to queries: what is asked, in the words that sources index."""
