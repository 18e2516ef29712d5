"""The runner: a small process that owns CLIs, numbers and spools their lines, and outlives the hub. Knows no protocol."""
