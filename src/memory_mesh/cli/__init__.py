"""The command line: `memory-mesh <command>`."""
