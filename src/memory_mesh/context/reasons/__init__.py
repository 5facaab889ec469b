"""Says in sentences why something is as it is. Pure: no I/O."""
