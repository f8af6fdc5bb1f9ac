"""Every record that reaches disk, as versioned pydantic models. Imports nothing of ours, does no I/O."""
