"""Faults by the count: kill, stop, fill, flood, and then compare the ledgers of all sides. Refuses to look inside: only outside."""
