"""Commands that train: `train` and `cv`, and what they say of mixtures and keep with models."""
