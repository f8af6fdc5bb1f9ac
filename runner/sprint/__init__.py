"""The driver: brief, attempt, snapshot, verify; the outcome comes from the runner's own checks alone."""
