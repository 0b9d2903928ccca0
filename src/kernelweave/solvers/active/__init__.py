"""Working sets as large as the support, on rows of any number: for one kernel and for many."""
