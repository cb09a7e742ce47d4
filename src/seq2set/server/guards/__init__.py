"""What stands around the app: who may ask, how much, and what is noted of it."""
