"""Words typed in a terminal, each led to one call. Refuses to hold logic that a program without a terminal would need."""
