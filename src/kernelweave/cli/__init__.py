"""The command line: train, predict, evaluate, inspect."""
