"""Runs inside a trusted container on what a contestant left: standard library and git only, nothing of ``runner``.

The repository is hostile. Its configuration, hooks, index and references are never used by git: git runs in a
directory of our own that merely reads the contestant's objects; what else is needed is parsed here.
"""
