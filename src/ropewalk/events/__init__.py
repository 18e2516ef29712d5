"""Our own words: what happened (events), what is asked for (commands), what is answered (views). Pure; no wire, no clock."""
