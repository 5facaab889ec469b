"""Memory in the agents people use: hooks, MCP, the daemon they share, plugins and adapters."""
