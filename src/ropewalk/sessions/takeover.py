"""A process that an earlier life of the hub started: its conversation is rebuilt from stored lines, then heard on.

Refuses to say anything twice: what was kept as said and never reached the CLI is written under the key it had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol.connection import Connection
from ..protocol.control import ControlRequest
from ..protocol.versions import parse_version
from ..store.rows import ProcessRow
from ..transports.runner import ProcessReport
from .bypass import confirmed
from .known import Known
from .translate import Translator
from .wire import ANSWERABLE, Wire, key_of

if TYPE_CHECKING:
    from .session import Session


async def take_over(session: Session, process: ProcessRow, report: ProcessReport) -> None:
    """The session hears its process again, from the line after the last that is stored; an end that came meanwhile too."""
    world = session.world
    wire, said = await _rebuilt(session, process)
    keys = await world.link.keys(process.id)
    wire.written_keys = keys & said.keys()
    wire.unconfirmed = {key: raw for key, raw in said.items() if key not in keys}
    session.wire, session.process = wire, process
    session.life.took_over(wire, report)
    for key in wire.written_keys:
        session.written(key)
    world.link.attach(process.id, report.stored, wire)
    wire.write_again()
    wire.flush()
    _said_unkept(session, wire, keys - said.keys())
    session.judging.heard_before()
    if wire.ready:
        confirmed(session)  # asked for by that life, perhaps in its last moment: its time begins now, if it had not
        session.life.goes_on()


def _said_unkept(session: Session, wire: Wire, keys: set[str]) -> None:
    """Answers that reached the CLI and were never stored: denials, which alone are said while the disk is sick."""
    questions = wire.connection.questions
    for request in questions:
        if f"answer:{request.request_id}" in keys:
            questions.close(request.request_id, "answered")
            session.desk.denied_unkept(request.request_id)


async def _rebuilt(session: Session, process: ProcessRow) -> tuple[Wire, dict[str, bytes]]:
    """The conversation as it was, and what we said in it by key."""
    world, row = session.world, session.row
    connection = Connection(
        new_id=world.new_uuid, version=parse_version(process.version), lazy=True, answerable=ANSWERABLE,
        known_cost=session.begun.spent,
    )  # fmt: skip
    translator = Translator(session.id, process.id, row.cwd, Known())
    wire = Wire(session, process.id, connection, translator)
    said: dict[str, bytes] = {}
    session.board.starting()
    async for line in world.store.conversation(process.id):
        if line.dir == "in":
            wire.said = line.n
            said[key_of(line.raw, line.n)] = line.raw + b"\n"
            connection.replay(line.raw)
            continue
        wire.heard = line.n
        messages = connection.receive_data(line.raw + b"\n")
        if not wire.ready and connection.initialize_response is not None:
            wire.ready = True
            session.board.ready()
        for message in messages:
            if isinstance(message, ControlRequest):
                session.judging.recalled(message)
            for event in translator.events(message, line.n, line.at):
                session.board.heed(event)
    connection.take_notable()
    translator.known.turn = max(translator.known.turn, session.known.turn)
    translator.known.cost_usd = session.known.cost_usd
    session.known = translator.known
    session.desk.tell_board()
    return wire, said
