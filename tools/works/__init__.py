"""What is known of publications beyond their own record: versions, retractions, full texts, and the trials they report.

Each module takes records and returns them noted: `trust` checks for retractions, `identity` settles which record is a
version of which and links papers with trials, `fulltext` adds sections and tables of open articles, `trials` names the
trial of a paper, and `drug_names` reads research codes (BAY 94-8862) off registered trials. None of them searches.
"""
