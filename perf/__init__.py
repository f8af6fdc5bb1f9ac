"""The benchmark suite: what the runner costs, measured against floors in the same run (``make perf``)."""
