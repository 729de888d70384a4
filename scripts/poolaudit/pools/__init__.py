"""Pools: what a campaign of a given depth would have judged; which one explains the judgments."""
