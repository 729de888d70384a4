"""The demo: a simulated campaign with known truth."""
