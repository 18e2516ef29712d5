"""Doors: where people and programs come in. They know the hub's calls and nothing behind it, and they do not know each other."""
