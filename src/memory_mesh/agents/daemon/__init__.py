"""One process per user and store that keeps the store open for hooks and MCP."""
