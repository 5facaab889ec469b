"""The public methods of `MemoryMesh`, one file per family."""
