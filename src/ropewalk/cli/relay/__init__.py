"""A prompt driven through a hub and told on a terminal. Refuses to own the work: the session is the hub's and goes on."""
