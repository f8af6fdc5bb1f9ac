"""What `make` runs first: the virtual environment and the engine. Python's own library only."""
