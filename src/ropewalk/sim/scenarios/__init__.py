"""The scenario files that ship with sim claude. Refuses code: the TOML files beside this one are the content."""
