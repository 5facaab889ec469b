"""What goes into a prompt under a budget: how tokens are counted, and which memories are taken."""
