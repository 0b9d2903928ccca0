"""One suite per contract, run for every member of a registry."""
