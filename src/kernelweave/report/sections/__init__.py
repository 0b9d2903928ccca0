"""The parts of a page, one file for each question that it answers."""
