"""UFO-MKL and OBSCURE."""
