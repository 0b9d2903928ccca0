"""What working sets as large as the support have in common, for one kernel and for many: rows of any number."""
