"""What is learned from memories: lessons, beliefs, procedures, skills."""
