"""Real CLIs, offline: every fact that our code leans on. Refuses the network; see conftest for the rig."""
