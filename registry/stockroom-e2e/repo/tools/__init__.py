"""Frozen checks of the plan's milestones; `tools/verify.py Mnn` runs them."""
