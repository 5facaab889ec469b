"""The commands of `memory-mesh`, one module each; it is loaded when it is asked for."""
