"""The server under load, faults and attack."""
