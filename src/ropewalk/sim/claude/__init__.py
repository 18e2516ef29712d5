"""sim claude: a scripted stand-in for the Claude Code CLI. Refuses to think: every word that it says stands in a scenario file."""
