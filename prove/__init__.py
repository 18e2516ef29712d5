"""Faults by the count: kill, stop, fill, flood; then the ledgers of all sides are compared. Refuses to look inside."""
