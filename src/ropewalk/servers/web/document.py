"""The OpenAPI document, made from the routes and their structs. Refuses to be served by itself: a route with a role does that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Litestar
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from msgspec import Struct

from ...events import commands, views

CLIENT_ID = {
    "name": "Client-Id", "in": "header", "required": False, "schema": {"type": "string", "minLength": 1, "maxLength": 200,
    "pattern": "^[\\x21-\\x7e]+$"}, "description": "The caller's own name for this action: repeated, it is the same action.",
}  # fmt: skip
STRUCTS = [
    found for found in {**vars(views), **vars(commands)}.values()
    if isinstance(found, type) and issubclass(found, Struct) and found not in (Struct, commands.Principal)
]  # fmt: skip
SIGN_IN = "/api/v1/signin"
FILE = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
}


def document_from(handlers: list[HTTPRouteHandler], dependencies: Mapping[str, Provide]) -> bytes:
    """A second application that nobody can reach describes the routes: the one that serves has no route of Litestar's own."""
    app = Litestar(
        route_handlers=handlers, dependencies=dict(dependencies), openapi_config=_config(), logging_config=None, debug=False
    )
    document = app.openapi_schema.to_schema()
    schemas = document["components"]["schemas"]
    schemas |= {name: found for name, found in _structs().items() if name in schemas}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            _mend(path, method, operation, schemas)
    return msgspec.json.encode(document)


def _config() -> OpenAPIConfig:
    schemes: dict[str, Any] = {"token": SecurityScheme(type="http", scheme="bearer")}
    return OpenAPIConfig(
        title="ropewalk", version="1", use_handler_docstrings=True, render_plugins=[JsonRenderPlugin()],
        description="The hub's API. Errors are problem+json, with a sentence that says what to do. The header Client-Id does for "
        "every action what the field client_id does.",
        components=Components(security_schemes=schemes), security=[{"token": []}],
    )  # fmt: skip


def _structs() -> dict[str, Any]:
    """Commands and views as msgspec, which reads and writes them, describes them: Litestar loses limits inside unions."""
    _, found = msgspec.json.schema_components(STRUCTS, ref_template="#/components/schemas/{name}")
    found["Control"]["additionalProperties"] = True
    return found


def _mend(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """What Litestar can't know: bodies that may be left out, the header where there is none, the file that an attachment is."""
    if path.endswith("/attachments"):
        operation["requestBody"] = FILE
    elif body := operation.get("requestBody"):
        body["required"] = _needs_words(body["content"]["application/json"]["schema"], schemas)
    if path == SIGN_IN:
        operation["security"] = []
    elif method == "delete" and "/prompts/" in path:
        operation.setdefault("parameters", []).append(CLIENT_ID)


def _needs_words(schema: dict[str, Any], schemas: dict[str, Any]) -> bool:
    named = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return bool(named.get("required"))
