// The reducer, on event streams as a hub told them.
import { expect, test } from "vitest";
import checkout from "./streams/checkout.jsonl?raw";
import type { AnyEvent } from "../src/api/types";
import { apply, applyLive, countsOf, Log, type ToolBlock } from "../src/state/log";
import { rowsOf } from "../src/state/rows";

const recorded = checkout.trim().split("\n").map((line) => JSON.parse(line) as AnyEvent);
const shape = (log: Log): unknown => [[...log.blocks.entries()], [...log.lists.entries()], log.facts, log.seq];

test("history at once, one event at a time, and twice over come to the same", () => {
  const events = recorded;
  const [whole, single, again] = [new Log(), new Log(), new Log()];
  apply(whole, events);
  for (const event of events) apply(single, [event]);
  apply(again, events.slice(0, 20));
  apply(again, events.slice(5, 30));
  apply(again, events);
  expect(shape(single)).toEqual(shape(whole));
  expect(shape(again)).toEqual(shape(whole));
});

test("every event of a stream leaves a block, a fact or a receipt, and what is new is shown", () => {
  const log = new Log();
  apply(log, [{ kind: "dreamt_of", session: "s", seq: 1, at: 1 } as unknown as AnyEvent]);
  expect([...log.blocks.values()][0]).toMatchObject({ kind: "note", what: "dreamt_of" });
});

test("a prompt stands in the talk when it was handed over, not before", () => {
  const log = new Log();
  apply(log, [{ kind: "prompt_queued", prompt: "p", text: "hi", session: "s", seq: 1, at: 1 }]);
  expect(log.lists.get("") ?? []).toEqual([]);
  apply(log, [{ kind: "prompt_sent", prompt: "p", session: "s", seq: 2, at: 2 }, { kind: "prompt_taken", prompt: "p", session: "s", seq: 3, at: 3 }]);
  expect(log.lists.get("")).toEqual(["prompt:p"]);
  expect(log.blocks.get("prompt:p")).toMatchObject({ state: "taken" });
});

test("what a sub-agent does stands under it, and not in the talk", () => {
  const log = new Log();
  apply(log, recorded);
  const agent = [...log.blocks.values()].find((block): block is ToolBlock => block.kind === "tool" && block.does === "agent")!;
  expect(agent.tools).toBe(1);
  expect(log.lists.get(agent.use)!.length).toBeGreaterThan(0);
  for (const key of log.lists.get(agent.use)!) expect(log.lists.get("")).not.toContain(key);
});

test("words that are being said grow, a gap keeps what is there, and the finished block takes their place", () => {
  const log = new Log();
  const delta = (text: string, begins: number): AnyEvent => ({ kind: "text_delta", block: "b", text, begins, session: "s", seq: 0, at: 0 });
  applyLive(log, [delta("Hel", 0), delta("lo", 3), delta("lo", 3), delta("far away", 90)]);
  expect(log.blocks.get("block:b")).toMatchObject({ text: "Hello", open: true });
  apply(log, [{ kind: "text", text: "Hello.", block: "b", session: "s", seq: 1, at: 1 }]);
  expect(log.blocks.get("block:b")).toMatchObject({ text: "Hello.", open: false });
  expect(log.lists.get("")).toEqual(["block:b"]);
});

test("runs of reading fold into one row behind the next other block; what failed does not", () => {
  const log = new Log();
  apply(log, recorded);
  const rows = rowsOf(log.lists.get("")!, (key) => log.blocks.get(key));
  const folds = rows.filter((row) => "fold" in row);
  expect(folds).toHaveLength(1);
  expect("fold" in folds[0]! && folds[0].fold.map((tool) => tool.does)).toEqual(["read", "read", "read", "search"]);
});

test("a tool says why it was allowed: by whom, by which rule", () => {
  const log = new Log();
  const tool = (use: string, seq: number): AnyEvent => ({ kind: "tool_started", tool_use: use, tool: "Bash", does: "run", title: "x", session: "s", seq, at: seq });
  apply(log, [
    tool("a", 1), tool("b", 2),
    { kind: "question_closed", question: "q", fate: "answered", behavior: "allow", by: "Mia", because_kind: "person", tool_use: "a", session: "s", seq: 3, at: 3 },
    { kind: "verdict_given", verdict: "v", tool_use: "b", tool: "Bash", behavior: "allow", because: "rule Bash(x:*)", session: "s", seq: 4, at: 4 },
  ]);
  expect((log.blocks.get("tool:a") as ToolBlock).because).toBe("allowed by Mia");
  expect((log.blocks.get("tool:b") as ToolBlock).because).toBe("rule Bash(x:*)");
});

test("lines of an edit are counted without what both sides share", () => {
  expect(countsOf({ old_string: "a\nb\nc", new_string: "a\nB\nBB\nc" })).toEqual({ plus: 2, minus: 1 });
  expect(countsOf({ content: "a\nb\n" })).toEqual({ plus: 2, minus: 0 });
});
