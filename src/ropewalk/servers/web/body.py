"""A request's body becomes the command it is. Refuses what does not fit its struct to the letter: "5" is no number here.

Litestar itself would convert generously; a hub that guesses what a client meant teaches clients to be wrong.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar, TypeVar

import msgspec
from litestar import Request
from litestar.dto import AbstractDTO, DTOFieldDefinition
from litestar.typing import FieldDefinition

from ...events.commands import ClientId, Command, Control
from .problems import Refusal, wrong_body

T = TypeVar("T")

CLIENT_ID = "client-id"
KNOWN_TO_CONTROL = frozenset(Control.__struct_fields__)


class BodyRequest(Request[Any, Any, Any]):
    """No body at all says the same as an empty object: most verbs need no words."""

    async def body(self) -> bytes:
        return await super().body() or b"{}"


async def file_from(request: Request[Any, Any, Any]) -> bytes:
    """The body as it came: an empty file is empty."""
    return await Request.body(request)


class Strict(AbstractDTO[T]):
    """The struct that a handler asks for as ``data``, decoded in one step."""

    decoders: ClassVar[dict[str, msgspec.json.Decoder[Any]]] = {}

    @classmethod
    def create_for_field_definition(cls, field_definition: FieldDefinition, handler_id: str, backend_cls: Any = None) -> None:
        cls.decoders[handler_id] = msgspec.json.Decoder(field_definition.annotation)

    @classmethod
    def create_openapi_schema(cls, field_definition: FieldDefinition, handler_id: str, schema_creator: Any) -> Any:
        return schema_creator.for_field_definition(field_definition)

    @classmethod
    def generate_field_definitions(cls, model_type: type[Any]) -> Generator[DTOFieldDefinition, None, None]:
        yield from ()

    @classmethod
    def detect_nested_field(cls, field_definition: FieldDefinition) -> bool:
        return False

    def decode_bytes(self, value: bytes) -> Any:
        handler: Any = self.asgi_connection.route_handler
        return with_client_id(decoded(value, self.decoders[handler.handler_id]), self.asgi_connection.headers.get(CLIENT_ID))


def decoded(value: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """Raises ``Refusal``: 400 for what is no JSON, 422 for what does not fit."""
    try:
        command = decoder.decode(value)
        if isinstance(command, Control):
            command.fields |= {name: field for name, field in msgspec.json.decode(value).items() if name not in KNOWN_TO_CONTROL}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise wrong_body(error) from None
    return command


def with_client_id(command: Any, header: str | None) -> Any:
    """The header ``Client-Id`` names the action where the body does not."""
    if not isinstance(command, Command | Control):
        return command
    name = client_id_from(header)
    return command if name is None or command.client_id is not None else msgspec.structs.replace(command, client_id=name)


def client_id_from(header: str | None) -> str | None:
    if header is None:
        return None
    try:
        return msgspec.convert(header, ClientId)
    except msgspec.ValidationError:
        raise Refusal(
            422, "wrong_field", "The header Client-Id must be 1 to 200 visible ASCII letters.", fields=["Client-Id"]
        ) from None
