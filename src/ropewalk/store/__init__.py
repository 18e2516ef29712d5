"""Rows: what happened, on disk. Refuses to know what an event means; the contract is ``base``."""
