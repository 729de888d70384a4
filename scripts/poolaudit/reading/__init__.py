"""Reading: runs, judgments and topics as they come, into tables; every mistake named by line."""
