"""Archiving: what is kept of an audit, how it is described and packed, and what changed since."""
