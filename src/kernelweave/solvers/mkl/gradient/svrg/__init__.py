"""Multi-epoch SVRG."""
