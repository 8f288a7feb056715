"""Publications: their versions, retractions, full texts, and the trials they report."""
