"""sim claude: a scripted stand-in for the Claude Code CLI. Refuses to think: its words stand in a scenario file."""
