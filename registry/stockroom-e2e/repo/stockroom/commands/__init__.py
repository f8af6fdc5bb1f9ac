"""One module a command group; `SPECS` says which words each command takes."""
