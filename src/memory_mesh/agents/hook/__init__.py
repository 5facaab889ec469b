"""`memory-mesh-hook`: what an agent runs at the start, at a prompt and at the end of a session."""
