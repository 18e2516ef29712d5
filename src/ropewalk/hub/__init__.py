"""The one crossing: commands in, events out, views to read. Doors know this and nothing behind it."""
