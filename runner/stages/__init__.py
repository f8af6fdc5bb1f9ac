"""One run, stage by stage: prepare, develop, copy out, measure, report."""
