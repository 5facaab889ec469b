"""What is made of memories: lessons, skills, reflections, traces; and the upkeep of a store."""
