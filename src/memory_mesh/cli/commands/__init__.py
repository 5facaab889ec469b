"""The commands of `memory-mesh`, one module each, loaded when the command is run."""
