"""How kernels are held: candidates, their memory, and the choice."""
