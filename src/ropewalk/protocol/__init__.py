"""LINES AND MESSAGES: what the CLI says and takes, as a state machine that is fed and drained. Refuses I/O, clocks and tasks."""
