"""Hooks of an agent's host: what goes into its prompts, and what is learned from them."""

PRINTED, SILENT = (
    b"p",
    b"s",
)  # what a hook tells its worker: the host has its line, or there is none
AWAY = "away"  # an outcome: the store is behind a service that cannot be reached
