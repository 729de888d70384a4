"""The report: the audit as data, as a page and as text."""
