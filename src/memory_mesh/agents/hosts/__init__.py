"""Hosts of agents: which are on this machine, and how `memory-mesh init` gives each its memory."""
