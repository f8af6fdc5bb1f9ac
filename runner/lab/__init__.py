"""A fresh container for one check: network none, fresh database, a tree laid out raw from the host's mirror."""
