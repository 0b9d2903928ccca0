"""CG-Boost: column generation over kernel columns, with linear and quadratic masters."""
