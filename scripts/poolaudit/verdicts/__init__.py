"""Verdicts: which numbers and orders are ok, need a caveat or are unsafe."""
