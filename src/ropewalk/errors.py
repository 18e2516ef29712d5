"""Every exception that ropewalk raises, sorted by whose fault it is. Refuses to hold behaviour: a class, its ids, its sentence.

RopewalkError
├── LocalProtocolError      we: about to say what this CLI must not hear; nothing was written
├── UsageError              the caller: options that can't be meant; nothing was started
│   ├── FolderMissing           the working folder does not exist
│   └── CliNotFound             no ``claude`` to run
├── LinkBroken              the road: a pipe, socket or runner went away
├── RequestFailed           the CLI: it said no to a request of ours
│   └── RequestTimedOut         … or nothing at all within the deadline
├── TurnFailed              the turn: it ended in an error (raised only by calls that promise an answer)
├── SessionGone             nobody is left to ask: the process has ended
├── HubError                the hub: it will not, or can't now, do what a door asked
│   ├── NotFound                no such session, question, prompt, runner or token
│   ├── NotAllowed              the asker's role, or the configuration, does not permit it
│   ├── Conflict                it is not in the state that this needs
│   │   └── AlreadyAnswered         somebody was first; says who
│   ├── CommandReused           the same client id with another body
│   ├── LimitReached            too many of them; says which limit
│   └── HubUnreachable          no hub answers there
└── StoreError              the store
    ├── StoreUnavailable        the disk: full, read-only, locked, failing; nothing of it was told
    ├── StoreRefused            opening it: in use, not ours alone, newer than we know, damaged
    ├── ConditionFailed         a row was not as the change needs it; nothing of that entry was stored
    └── Fenced                  a newer owner has the session; nothing was stored
"""

from __future__ import annotations


class RopewalkError(Exception):
    """The root: catch this to catch everything that ropewalk itself raises."""


class LocalProtocolError(RopewalkError):
    """We were about to say something that this CLI, or this moment, does not allow. Nothing was written."""


class UsageError(RopewalkError, ValueError):
    """The options can't be meant. Nothing was started; the sentence says what to change."""


class FolderMissing(UsageError):
    """The working folder does not exist. There is no fallback to another one."""

    def __init__(self, folder: str) -> None:
        super().__init__(f"the folder {folder} does not exist; create it or choose another cwd")
        self.folder = folder


class CliNotFound(UsageError):
    """No ``claude`` to run."""

    def __init__(self, looked_for: str) -> None:
        super().__init__(
            f"no Claude Code CLI found ({looked_for}); install it with `npm install -g @anthropic-ai/claude-code`, "
            "or name it with the option cli= or the variable ROPEWALK_CLI"
        )
        self.looked_for = looked_for


class LinkBroken(RopewalkError):
    """The pipe, socket or runner to the CLI went away, or could not be opened."""


class RequestFailed(RopewalkError):
    """The CLI answered a control request with ``subtype: error``."""

    def __init__(self, request_id: str, subtype: str, reason: str, code: str | None = None) -> None:
        super().__init__(f"{subtype}: {reason}")
        self.request_id, self.subtype, self.reason, self.code = request_id, subtype, reason, code


class RequestTimedOut(RequestFailed):
    """The CLI gave no answer within the deadline. A late one is dropped. 2.1.37 never answers subtypes that it does not know."""


class TurnFailed(RopewalkError):
    """The turn ended in an error. ``subtype`` and ``errors`` are the CLI's own words."""

    def __init__(self, subtype: str, errors: tuple[str, ...], session_id: str | None = None) -> None:
        super().__init__(f"the turn failed ({subtype}): {'; '.join(errors) or 'no reason given'}")
        self.subtype, self.errors, self.session_id = subtype, errors, session_id


class SessionGone(RopewalkError):
    """The process has ended: every waiter and every later call gets this, with the exit code and the last words on stderr."""

    def __init__(self, why: str, exit_code: int | None = None, stderr: tuple[str, ...] = ()) -> None:
        words = "\n".join(stderr[-10:])
        super().__init__(f"{why}\n{words}" if words else why)
        self.why, self.exit_code, self.stderr = why, exit_code, stderr


class HubError(RopewalkError):
    """The hub will not, or can't now, do what was asked. ``code`` is a word for programs; the sentence says what to do."""

    code = "hub_error"

    def __init__(self, sentence: str, *, code: str | None = None) -> None:
        super().__init__(sentence)
        if code is not None:
            self.code = code


class NotFound(HubError):
    code = "not_found"


class NotAllowed(HubError):
    code = "not_allowed"


class Conflict(HubError):
    code = "conflict"


class AlreadyAnswered(Conflict):
    """Somebody, or the end of the process, was first."""

    code = "already_answered"

    def __init__(self, sentence: str, *, by: str = "", door: str = "", fate: str = "answered") -> None:
        super().__init__(sentence)
        self.by, self.door, self.fate = by, door, fate


class CommandReused(HubError):
    code = "client_id_reused"


class LimitReached(HubError):
    code = "limit_reached"


class HubUnreachable(HubError):
    code = "hub_unreachable"


class StoreError(RopewalkError):
    """The root of what a store raises."""


class StoreUnavailable(StoreError):
    """What was to be written, or read, could not be: the disk is sick. The sentence says how, and what helps."""

    def __init__(self, why: str, state: str = "failing") -> None:
        super().__init__(why)
        self.why, self.state = why, state


class StoreRefused(StoreError):
    """The store was not opened. Nothing was changed; the sentence says why and what to do."""


class ConditionFailed(StoreError):
    """A change found no row as it needs it, or a new row found its key taken. Nothing of its entry was stored."""

    def __init__(self, table: str, key: dict[str, object], why: str = "") -> None:
        super().__init__(why or f"no {table} with {key} is in the state that this needs")
        self.table, self.key = table, key


class Fenced(StoreError):
    """A newer owner has this session. Nothing was stored; let it go."""

    def __init__(self, session: str, epoch: int, stored: int) -> None:
        super().__init__(f"session {session} is owned under epoch {stored}; this writer has {epoch}")
        self.session, self.epoch, self.stored = session, epoch, stored
