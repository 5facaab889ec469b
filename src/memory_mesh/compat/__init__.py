"""The interfaces of other memory libraries over a memory-mesh store."""
