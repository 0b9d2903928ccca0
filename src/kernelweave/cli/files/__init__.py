"""The command `convert`: stores on disk, model files of others."""
