"""Choosing a model: folds of rows that belong together, searches with shared work, intervals, near copies."""
