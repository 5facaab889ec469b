"""From hits to a prompt, and why something is in it or not."""
