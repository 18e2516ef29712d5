"""From flags and environment to a session that is ready to run: new, resumed, continued or forked. Refuses unknown sessions."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .flags import Flags, Refused, is_uuid
from .lines import Lines
from .results import launch_failure
from .scenario import Scenario
from .session import Json, Purse, Session, new_id
from .transcript import Transcript, newest
from .versions import Traits


class NoSuchSession(Exception):
    """--resume, or --resume-session-at, named what is not there: one result line, then exit 1."""

    def __init__(self, line: Json, words: str) -> None:
        super().__init__(words)
        self.line, self.words = line, words


@dataclass
class Launch:
    """The session and the file that it goes on with."""

    session: Session
    transcript: Transcript


def open_session(flags: Flags, story: Scenario, traits: Traits) -> Launch:
    """Raises `Refused` for an id in use and `NoSuchSession` for an unknown one."""
    session = _new(flags, story, traits)
    asked = flags.resume or (newest(session.config_dir, session.cwd) if flags.go_on else None)
    transcript = Transcript.of(session.config_dir, session.cwd, session.id)
    if asked is None:
        if flags.session_id and transcript.load():
            raise Refused(f"Error: Session ID {flags.session_id} is already in use.")
        return Launch(session, transcript)
    return _resumed(flags, session, asked)


def _new(flags: Flags, story: Scenario, traits: Traits) -> Session:
    config = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    return Session(
        traits=traits, id=flags.session_id or new_id(), cwd=os.getcwd(), config_dir=config, mode=flags.mode,
        model=flags.model or story.model or traits.model, purse=Purse(traits.price), allow_rules=flags.allowed,
        deny_rules=flags.denied, directories=[os.path.abspath(folder) for folder in flags.add_dirs],
        bypass_launched=flags.skip_permissions or flags.may_skip_permissions or flags.mode == "bypassPermissions",
    )  # fmt: skip


def _resumed(flags: Flags, session: Session, asked: str) -> Launch:
    if not is_uuid(asked):
        raise _missing(session, asked, _not_an_id(session.traits, asked))
    before = Transcript.of(session.config_dir, session.cwd, asked)
    if not before.load():
        raise _missing(session, asked, f"No conversation found with session ID: {asked}")
    transcript = before
    if flags.fork:
        transcript = Transcript.of(session.config_dir, session.cwd, session.id)
        before.copy_to(transcript)
    else:
        session.id = asked
    if session.traits.cost_goes_on:
        session.purse.carried_over = before.spent()
    if flags.resume_at and not transcript.cut_after(flags.resume_at):
        raise _missing(session, asked, f"No message found with message.uuid of: {flags.resume_at}")
    return Launch(session, transcript)


def _missing(session: Session, asked: str, words: str) -> NoSuchSession:
    if session.traits.asked_id_on_unknown:
        session.id = asked
    return NoSuchSession(launch_failure(Lines(session), words), words)


def _not_an_id(traits: Traits, asked: str) -> str:
    if traits.rich_results:
        return (
            "Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p --resume "
            f'<session-id|title>. Provided value "{asked}" is not a UUID and does not match any session title.'
        )
    return (
        "Error: --resume requires a valid session ID when used with --print. Usage: claude -p --resume <session-id>. Session IDs "
        f'must be in UUID format (e.g., 550e8400-e29b-41d4-a716-446655440000). Provided value "{asked}" is not a valid UUID'
    )
