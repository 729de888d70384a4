"""Scores: measures over judged lists, under each unjudged policy, with their bounds and ledgers."""
