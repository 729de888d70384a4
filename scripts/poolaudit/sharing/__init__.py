"""Sharing: what all contributors have in common, which removal cannot see."""
