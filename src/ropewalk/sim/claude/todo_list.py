"""The task tools of headless mode (TaskCreate and its kin), off unless switched on by variables. Refuses to keep them on disk."""

from __future__ import annotations

from .calls import Call
from .outcomes import Outcome
from .session import Json, Session


class TodoList:
    """Numbered from 1, as the real one numbers them."""

    def __init__(self) -> None:
        self._tasks: dict[str, Json] = {}

    def act(self, call: Call, session: Session) -> Outcome:
        match call.name:
            case "TaskCreate":
                return self._create(call, session)
            case "TaskUpdate":
                return self._update(call)
        tasks = [
            {"id": number, "subject": task["subject"], "status": task["status"], "blockedBy": []}
            for number, task in self._tasks.items()
        ]
        words = "\n".join(f"#{task['id']} [{task['status']}] {task['subject']}" for task in tasks) or "No tasks found"
        return Outcome(words, {"tasks": tasks})

    def _create(self, call: Call, session: Session) -> Outcome:
        number = str(len(self._tasks) + 1)
        subject = str(call.given.get("subject", ""))
        self._tasks[number] = {"subject": subject, "status": "pending"}
        task: Json = {"id": number, "subject": subject}
        if session.traits.rich_results:
            task["description"] = call.given.get("description", "")
        return Outcome(f"Task #{number} created successfully: {subject}", {"task": task})

    def _update(self, call: Call) -> Outcome:
        number = str(call.given.get("taskId"))
        task = self._tasks.get(number)
        if task is None:
            return Outcome("Task not found", {"success": False, "taskId": number, "updatedFields": [], "error": "Task not found"})
        before, task["status"] = task["status"], str(call.given.get("status", task["status"]))
        change = {"from": before, "to": task["status"]}
        return Outcome(
            f"Updated task #{number} status",
            {"success": True, "taskId": number, "updatedFields": ["status"], "statusChange": change},
        )
