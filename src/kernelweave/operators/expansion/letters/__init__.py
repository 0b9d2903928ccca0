"""What the letters, arcs and columns of a row add to its scores."""
