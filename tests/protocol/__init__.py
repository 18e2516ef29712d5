"""What the protocol promises, shown on recorded lines of real CLIs and on lines that no CLI would send."""
