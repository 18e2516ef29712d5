"""What each message of the CLI changes of what we know of it. Refuses to say anything but answers that no person is asked for.

The knowledge of a ``Connection`` lives here, and one method for each kind of message that changes it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from . import outgoing
from .answers import Allow, Answer, Refusal, Reply, payload_of
from .codec import decode, encode
from .control import CanUseTool, ControlAnswer, ControlCancelRequest, ControlRequest, ControlResponse, SdkControlInterrupt
from .costs import CostMeter
from .framing import MAX_LINE, LineSplitter
from .messages import Assistant, CommandLifecycle, ConversationReset, Message, Result, StreamEvent, User
from .pending import Pending
from .questions import Questions
from .state import State, Step, advance
from .stream import MessageStart
from .system import BackgroundTasksChanged, Init, Status, TaskNotification, TaskStarted
from .turns import Turn, Turns
from .versions import COUNTS_COST_FROM_ZERO, NOTES_BEGIN_NO_TURN, Version, parse_version

Notable = ControlRequest | ControlCancelRequest | Result

ANSWERABLE = frozenset({"can_use_tool", "hook_callback", "mcp_message"})
"""Questions that an owner answers by default; all others are refused at once, since the CLI would wait for ever."""

_UNREAD = frozenset({"input", "message", "request"})
"""Parts of a question without which nobody could answer it rightly."""

REPEATS = 8192
"""Uuids remembered to drop repeats: 2.1.120 sends its whole buffer (1,000 lines by its documents) again after each reconnect."""


class Hearing:
    """What is known of one CLI process, and how it is learnt. Use it as a ``Connection``."""

    __slots__ = (
        "_answerable", "_context_line", "_cost", "_init_request", "_lazy", "_lines", "_link", "_new_id", "_notable", "_out",
        "_recovered", "_recovery", "_seen", "_unechoed", "capabilities", "cwd", "initialize_response", "last_turn", "mode",
        "model", "pending", "questions", "session_id", "state", "tasks", "turns", "version", "why",
    )  # fmt: skip

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        version: Version | None = None,
        lazy: bool = False,
        link: bool = False,
        known_cost: float = 0.0,
        max_line: int = MAX_LINE,
        answerable: frozenset[str] = ANSWERABLE,
    ) -> None:
        self._new_id = new_id
        self._lazy = lazy and not link
        self._link = link
        self._answerable = answerable
        self._lines = LineSplitter(max_line)
        self._out: list[bytes] = []
        self._notable: list[Notable] = []
        self._cost = CostMeter(known_cost)
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._unechoed: dict[str, bytes] = {}  # prompts as sent, until their receipt; only on links
        self._recovered: list[Message] = []  # told besides: questions that a second initialize listed, or no longer lists
        self._recovery: set[str] = set()  # ids of initialize requests that were said again after a broken link
        self._context_line: Message | bytes | None = None
        self._init_request: dict[str, Any] = {}
        self.state = State.NEW
        self.pending = Pending()
        self.questions = Questions()
        self.turns = Turns()
        self.tasks: dict[str, str] = {}
        """Background work under way: id → what it is. 2.1.37 tells nothing of it."""
        self.last_turn: Turn | None = None
        self.session_id: str | None = None
        self.cwd: str | None = None
        self.mode: str | None = None
        self.model: str | None = None
        self.version = version
        self.capabilities: frozenset[str] = frozenset()
        self.initialize_response: dict[str, Any] | None = None
        self.why = ""

    def answer(self, request_id: str, answer: Answer) -> None:
        """Answer an open question, once. Raises ``LocalProtocolError`` when it is not open or the answer does not fit."""
        question = self.questions.get(request_id)
        state = advance(self.state, Step.ANSWER)
        if isinstance(answer, Refusal):
            line = outgoing.error_line(request_id, answer.error)
        else:
            raw = question.input_raw if isinstance(answer, Allow) and answer.updated_input is None else b""
            line = outgoing.success_line(request_id, payload_of(question, answer, self.version), raw)
        self.questions.close(request_id, "answered", line)
        self.state = state
        self._out.append(line)

    # -- one method for each kind of message; each returns whether it is told

    def _session_named(self, message: Message) -> None:
        """The id changes with ``/clear`` and forks. A failed resume names one that never was: it is not taken over."""
        if self.session_id is None and isinstance(message, Result) and message.failed and not message.num_turns:
            return
        self.session_id = message.session_id

    def _on_init(self, message: Init) -> bool:
        self.state = advance(self.state, Step.TURN)
        self.cwd, self.model = message.cwd or self.cwd, message.model or self.model
        self.mode = message.permissionMode or self.mode
        self._version_told(message.claude_code_version, message.capabilities)
        self.turns.begun()
        for uuid in message.user_message_uuids or ():
            self._receipt(uuid)
        return True

    def _on_result(self, message: Result) -> bool:
        self.state = advance(self.state, Step.RESULT)
        self.last_turn = self.turns.ended(message, self._cost.turn(message.total_cost_usd))
        self._notable.append(message)
        message.prompts, message.cost_usd = self.last_turn.prompts, self.last_turn.cost_usd
        for uuid in self.last_turn.prompts:
            self._unechoed.pop(uuid, None)
        return True

    def _on_status(self, message: Status) -> bool:
        self.mode = message.permissionMode or self.mode
        return True

    def _on_user(self, message: User) -> bool:
        if message.isReplay and message.uuid is not None:
            self._receipt(message.uuid)
        done = message.tool_use_result
        if isinstance(done, dict) and done.get("status") == "completed":
            self.tasks.pop(str(done.get("agentId")), None)  # a sub-agent that was waited for: 2.1.62 tells no other end of it
        return True

    def _on_lifecycle(self, message: CommandLifecycle) -> bool:
        self._unechoed.pop(message.command_uuid, None)
        self.turns.lifecycle(message)
        return True

    def _on_reset(self, message: ConversationReset) -> bool:
        self._cost.reset()
        return True

    def _on_task_started(self, message: TaskStarted) -> bool:
        self.tasks[message.task_id] = message.description or ""
        return True

    def _on_tasks(self, message: BackgroundTasksChanged) -> bool:
        self.tasks = {str(task.get("task_id")): str(task.get("description", "")) for task in message.tasks}
        return True

    def _on_task(self, message: TaskNotification) -> bool:
        self.tasks.pop(message.task_id, None)
        if self.version is None or self.version > NOTES_BEGIN_NO_TURN:
            self.turns.notified()
        return True

    def _on_assistant(self, message: Assistant) -> bool:
        if message.parent_tool_use_id is None and message.message.usage is not None and message.message.model != "<synthetic>":
            self._context_line = message
        return True

    def _on_stream(self, message: StreamEvent) -> bool:
        if type(message.event) is MessageStart and message.parent_tool_use_id is None:
            self._context_line = message
        return True

    def _on_question(self, message: ControlRequest) -> bool:
        if not message.request_id:
            return True  # it can't be answered: the id is the only handle
        if not self.questions.open(message):
            if said := self.questions.to_repeat(message.request_id):
                self._out.append(said)
            return False
        if self.state in (State.ENDING, State.CLOSED):
            return True  # nothing can be said any more; the CLI refuses the tool by itself
        if isinstance(message.request, SdkControlInterrupt):
            self.answer(message.request_id, Reply())
        elif why := self._why_refused(message):
            self.answer(message.request_id, Refusal(why))
        else:
            self._notable.append(message)
        return True

    def _why_refused(self, message: ControlRequest) -> str:
        """Why nobody can answer this, or nothing. Unanswered, the CLI would wait for ever."""
        subtype = subtype_of(message)
        if subtype not in self._answerable:
            return f"{subtype or 'this request'} is not supported by this controller"
        if not isinstance(message.request, CanUseTool) and not _UNREAD.isdisjoint(message.misfits):
            return f"this {subtype} could not be read"
        return ""

    def _on_withdrawal(self, message: ControlCancelRequest) -> bool:
        if self.questions.close(message.request_id, "withdrawn by the CLI") is not None:
            self._notable.append(message)
        return True

    def _on_response(self, message: ControlResponse) -> bool:
        answer = message.response
        again = answer.request_id in self._recovery
        self._recover([*answer.pending_permission_requests, *answer.pending_user_dialog_requests])
        if again:
            self._recovery.discard(answer.request_id)
            self._withdraw_unlisted(answer)
        if again and answer.subtype == "error" and answer.request_id in self.pending:
            answer = ControlAnswer("success", answer.request_id, {})  # it had heard the first; only its answer was lost
        response = answer.response or {}
        line = self.pending.line(answer.request_id)
        subtype = self.pending.settle(answer)
        if subtype == "initialize":
            self._initialize_answered(answer.subtype, response)
        elif subtype == "set_permission_mode" and answer.subtype == "success":
            self.mode = _text(response.get("mode")) or self.mode
        elif subtype == "set_model" and answer.subtype == "success":
            self.model = _text(response.get("model")) or self.model
        elif subtype == "stop_task" and answer.subtype == "success":
            self.tasks.pop(str(decode(line).fields()["request"].get("task_id")), None)  # 2.1.62 says nothing else of its end
        return True

    def _initialize_answered(self, outcome: str, response: dict[str, Any]) -> None:
        self.state = advance(self.state, Step.INITIALIZED)
        if outcome != "success":
            return
        self.initialize_response = response
        self.mode = _text(response.get("current_permission_mode")) or self.mode
        told = response.get("capabilities")
        self._version_told(_text(response.get("claude_code_version")), told if isinstance(told, list) else [])

    def _version_told(self, version: str | None, capabilities: list[Any]) -> None:
        if version:
            self.version = parse_version(version) or self.version
        if self.version is not None and self.version <= COUNTS_COST_FROM_ZERO:
            self._cost.starts_at_zero()
        if capabilities:
            self.capabilities |= frozenset(one for one in capabilities if isinstance(one, str))

    def _recover(self, listed: list[dict[str, Any]]) -> None:
        """Questions that are open at the CLI's side: those we don't know are opened, those we answered are answered again."""
        for fields in listed:
            question = decode(encode({"type": "control_request", **fields}).rstrip(b"\n"))
            if isinstance(question, ControlRequest) and self._on_question(question):
                self._recovered.append(question)

    def _withdraw_unlisted(self, answer: ControlAnswer) -> None:
        """The CLI withdrew them while the link was down. An error lists all that is open, also when that is nothing."""
        if answer.subtype != "error":
            return
        listed = {fields.get("request_id") for fields in answer.pending_permission_requests}
        for question in self.questions:
            if isinstance(question.request, CanUseTool) and question.request_id not in listed:
                raw = encode({"type": "control_cancel_request", "request_id": question.request_id}).rstrip(b"\n")
                withdrawal = ControlCancelRequest(raw=raw, request_id=question.request_id)
                self._on_withdrawal(withdrawal)
                self._recovered.append(withdrawal)

    def _receipt(self, uuid: str) -> None:
        self._unechoed.pop(uuid, None)
        self.turns.took(uuid)

    def _is_repeat(self, message: Message) -> bool:
        if message.uuid is None:
            return False
        key = f"{message.uuid}{type(message).__name__}"
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > REPEATS:
            self._seen.popitem(last=False)
        return False


HEED: dict[type[Message], Callable[[Hearing, Any], bool]] = {
    Init: Hearing._on_init,
    Result: Hearing._on_result,
    Status: Hearing._on_status,
    User: Hearing._on_user,
    CommandLifecycle: Hearing._on_lifecycle,
    ConversationReset: Hearing._on_reset,
    TaskNotification: Hearing._on_task,
    TaskStarted: Hearing._on_task_started,
    BackgroundTasksChanged: Hearing._on_tasks,
    Assistant: Hearing._on_assistant,
    StreamEvent: Hearing._on_stream,
    ControlRequest: Hearing._on_question,
    ControlCancelRequest: Hearing._on_withdrawal,
    ControlResponse: Hearing._on_response,
}


def subtype_of(question: ControlRequest) -> str:
    asked = question.request
    tag = type(asked).__struct_config__.tag
    return str(tag) if tag else str(getattr(asked, "subtype", ""))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
