"""Audit of pooled relevance judgments: pure functions over two tables.

The library knows nothing of Snakemake. `pairs` holds the data model, two tables in one order;
every other module is named after the term of the field that it implements.
"""
