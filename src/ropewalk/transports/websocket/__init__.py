"""Our side of ``--sdk-url``: a CLI up to 2.1.120 that dials in over WebSocket. Nothing is defined here."""

from ropewalk.transports.websocket.transport import WebSocketTransport

__all__ = ["WebSocketTransport"]
