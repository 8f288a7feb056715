"""The one way out: requests that are retried, limited, capped and cut off in time."""
