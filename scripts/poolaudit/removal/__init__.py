"""Removal: the scores if a contributor had never been pooled."""
