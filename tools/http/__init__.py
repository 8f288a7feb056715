"""HTTP access to the sources, with retries, rate limits, size caps and deadlines."""
