"""Named views from the columns of a table, and what was learned of kernels as a step for other estimators."""
