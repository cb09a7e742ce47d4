"""The routes of the HTTP interface, one file per group."""
