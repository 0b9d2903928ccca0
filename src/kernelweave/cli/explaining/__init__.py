"""Commands that explain models: what was learned, which letters of single rows decide, what variants change."""
