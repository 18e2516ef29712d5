"""Our side of ``--sdk-url``: a CLI that dials in over WebSocket. Refuses CLIs from 2.1.121 on only in words: they refuse us."""
