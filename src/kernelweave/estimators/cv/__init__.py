"""Cross-validation on kernels that are bound once: folds as costs, paths of warm starts, scores of held-out outputs."""
