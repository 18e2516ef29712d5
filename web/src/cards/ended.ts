// How a question ended, in one line, the same on the card and in the transcript.
import type { QuestionClosed, QuestionView } from "../api/types";
import { say } from "../words/say";

export function endedView(question: QuestionView, me: string): string {
  if (question.state === "withdrawn") return say("claude_no_longer");
  if (question.state === "lost") return say("q_lost");
  if (question.state === "expired") return say("q_expired");
  const verdict = (question.verdict ?? {}) as { behavior?: string; message?: string; answers?: Record<string, string> };
  const words = verdict.answers ? Object.values(verdict.answers).join("; ") : (verdict.message ?? "");
  return line(question.asks, verdict.behavior, question.by === me ? say("you") : question.by, question.door, words);
}

export function endedEvent(asks: string, closed: QuestionClosed): string {
  if (closed.fate === "withdrawn") return say("claude_no_longer");
  if (closed.fate === "lost") return say("q_lost");
  if (closed.fate === "expired") return say("q_expired");
  const rules = closed.rules?.length ? ` ${closed.rules.join("  ")}` : "";
  return line(asks, closed.behavior ?? undefined, closed.by ?? "", closed.door ?? "", closed.message ?? "", !closed.rules?.length) + rules;
}

function line(asks: string, behavior: string | undefined, by: string, door: string, words: string, once = false): string {
  const verb = behavior === "deny" ? `✕ ${say("denied")}` : asks === "permission" ? `✓ ${say(once ? "allowed_once" : "allowed")}` : `✓ ${say("answered")}`;
  const who = by ? ` ${say("answered_by", { who: by })}${door ? ` (${door})` : ""}` : "";
  return `${verb}${who}${words ? `: ${words}` : ""}`;
}
