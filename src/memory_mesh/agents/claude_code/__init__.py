"""Claude Code: its plugin, and how `memory-mesh init` installs it."""
