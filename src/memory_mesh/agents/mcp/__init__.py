"""`memory-mesh-mcp`: memory as tools of the Model Context Protocol."""
