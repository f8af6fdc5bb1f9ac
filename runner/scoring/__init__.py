"""One file per layer, then the fold. A scorer takes an immutable artifact and returns gates, figures and components."""

SCORER_VERSION = "3"
