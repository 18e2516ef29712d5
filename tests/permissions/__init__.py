"""What rules allow, and what a shell command would really do."""
