"""What a Parquet file says of itself; some damage would end the process if PyArrow met it first."""
