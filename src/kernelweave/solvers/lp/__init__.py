"""Linear programmes in HiGHS."""
