"""Commands: parse, call, print. No logic. Heavy imports happen inside the commands."""
