"""What stands in the cells of a row: columns by the names that users give, labels, and HTML in texts."""
