"""THE LIBRARY: Client drives one CLI from your own program, no hub. Refuses to hide lines: all are delivered, raw kept."""
