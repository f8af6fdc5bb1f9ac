"""What happened in a run, from its journal, its ledger and its agent's logs."""
