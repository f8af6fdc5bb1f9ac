"""A first registry entry for somebody's own repository: everything that can be guessed, and a TODO for the rest."""
