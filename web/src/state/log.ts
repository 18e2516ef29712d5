// A session's log as blocks: one reducer for what was and for what happens. Refuses to be told anything twice, and to lose a kind.
import type { AnyEvent, QuestionClosed, ToolFinished, ToolStarted, TurnEnded } from "../api/types";

interface Common {
  key: string;
  seq: number;
  at: number;
}
export interface PromptBlock extends Common {
  kind: "prompt";
  id: string;
  text: string;
  by: string;
  door: string;
  images: number;
  state: "queued" | "sent" | "taken" | "withdrawn" | "failed" | "lost";
  reason: string;
}
export interface TextBlock extends Common {
  kind: "text";
  text: string;
  open: boolean;
  cut: boolean;
  error: string;
}
export interface ThinkingBlock extends Common {
  kind: "thinking";
  text: string;
  open: boolean;
  redacted: boolean;
  ms: number | null;
}
export interface ToolBlock extends Common {
  kind: "tool";
  use: string;
  tool: string;
  does: string;
  title: string;
  input: Record<string, unknown>;
  cut: boolean;
  state: "running" | "done" | "failed";
  output: string;
  outputCut: boolean;
  summary: string;
  ended: number | null;
  because: string;
  last: string;
  tools: number;
}
export interface QuestionBlock extends Common {
  kind: "question";
  id: string;
  asks: string;
  words: string;
  tool: string;
  closed: QuestionClosed | null;
  undelivered: string;
}
export interface TurnBlock extends Common {
  kind: "turn";
  end: TurnEnded;
  files: number;
  plus: number;
  minus: number;
}
export interface NoteBlock extends Common {
  kind: "note";
  tone: "plain" | "boundary" | "warn" | "bad" | "system";
  what: string;
  event: AnyEvent;
}
export type Block = PromptBlock | TextBlock | ThinkingBlock | ToolBlock | QuestionBlock | TurnBlock | NoteBlock;

export interface Changed {
  plus: number;
  minus: number;
}
export interface Facts {
  todos: { content: string; status: string }[];
  files: Record<string, Changed>;
  verdicts: { rule: number; people: Record<string, number>; denied: number; cli: number };
  turn: number | null;
  turnBegan: number;
  turnFiles: Record<string, Changed>;
  turnCost: number;
  retry: { attempt: number; of: number; at: number; delay: number } | null;
}

export class Log {
  seq = 0;
  first = 0;
  facts: Facts = {
    todos: [], files: {}, verdicts: { rule: 0, people: {}, denied: 0, cli: 0 }, turn: null, turnBegan: 0, turnFiles: {}, turnCost: 0,
    retry: null,
  };
  /** ``blocks`` by key, ``lists`` of keys by the tool that they belong to ("" is the talk itself). Both may be reactive maps. */
  constructor(readonly blocks: Map<string, Block> = new Map(), readonly lists: Map<string, string[]> = new Map()) {}
}

export const TOP = "";

/** Durable events, in the order of their seq. What was applied already is passed over. */
export function apply(log: Log, events: readonly AnyEvent[]): void {
  const change = new Change(log);
  for (const event of events) {
    if (event.seq <= log.seq) continue;
    log.seq = event.seq;
    log.first ||= event.seq;
    change.durable(event);
  }
  change.commit();
}

/** Words that are being said. A listener that missed some sees where they begin, and keeps what it has. */
export function applyLive(log: Log, events: readonly AnyEvent[]): void {
  const change = new Change(log);
  for (const event of events) change.live(event);
  change.commit();
}

class Change {
  private readonly lists = new Map<string, string[]>();
  private facts: Facts;

  constructor(private readonly log: Log) {
    this.facts = { ...log.facts };
  }

  commit(): void {
    for (const [parent, keys] of this.lists) this.log.lists.set(parent, keys);
    this.log.facts = this.facts;
  }

  private list(parent: string | null | undefined): string[] {
    const name = parent && this.log.blocks.has(`tool:${parent}`) ? parent : TOP;
    let keys = this.lists.get(name);
    if (!keys) this.lists.set(name, (keys = [...(this.log.lists.get(name) ?? [])]));
    return keys;
  }

  private put(block: Block, parent?: string | null): void {
    if (!this.log.blocks.has(block.key)) this.list(parent).push(block.key);
    this.log.blocks.set(block.key, block);
  }

  private mend<B extends Block>(key: string, change: Partial<B>): void {
    const block = this.log.blocks.get(key) as B | undefined;
    if (block) this.log.blocks.set(key, { ...block, ...change });
  }

  durable(event: AnyEvent): void {
    const common = { key: `${event.seq}`, seq: event.seq, at: event.at };
    const note = (tone: NoteBlock["tone"]) => this.put({ ...common, kind: "note", tone, what: event.kind, event }, event.parent);
    switch (event.kind) {
      case "prompt_queued": {
        const block: PromptBlock = {
          ...common, key: `prompt:${event.prompt}`, kind: "prompt", id: event.prompt, text: event.text ?? "", by: event.by ?? "",
          door: event.door ?? "", images: event.images ?? 0, state: "queued", reason: "",
        };
        this.log.blocks.set(block.key, block);  // it stands in the queue, and comes into the talk when it is handed over
        return;
      }
      case "prompt_changed":
        return this.mend<PromptBlock>(`prompt:${event.prompt}`, event.text == null ? {} : { text: event.text });
      case "prompt_sent":
        return this.handed(event.prompt, { state: "sent" });
      case "prompt_taken":
        return this.handed(event.prompt, { state: "taken" });
      case "prompt_withdrawn":
        return this.handed(event.prompt, { state: "withdrawn" });
      case "prompt_failed":
        return this.handed(event.prompt, { state: "failed", reason: event.reason ?? "" });
      case "prompt_lost":
        return this.handed(event.prompt, { state: "lost", reason: event.reason ?? "" });
      case "turn_started":
        this.facts.turn = event.turn;
        this.facts.turnBegan = event.at;
        this.facts.turnFiles = {};
        this.facts.verdicts = { rule: 0, people: {}, denied: 0, cli: 0 };
        return;
      case "turn_ended":
        return this.turnEnded(event, common);
      case "text":
        return this.said(event.block, {
          ...common, kind: "text", text: event.text, open: false, cut: event.cut ?? false, error: event.error ?? "",
        }, event.parent);
      case "thinking":
        return this.said(event.block, {
          ...common, kind: "thinking", text: event.text, open: false, redacted: event.redacted ?? false, ms: event.duration_ms ?? null,
        }, event.parent);
      case "tool_started":
        return this.toolStarted(event, common);
      case "tool_finished":
        return this.toolFinished(event, common);
      case "todos_changed":
        this.facts.todos = (event.todos ?? []).map((todo) => ({ content: String(todo.content ?? ""), status: String(todo.status ?? "") }));
        return;
      case "task_changed":
      case "task_started":
      case "task_ended":
        return this.task(event);
      case "question_opened":
        return this.put({
          ...common, key: `question:${event.question}`, kind: "question", id: event.question, asks: event.asks, words: event.words ?? "",
          tool: event.tool ?? "", closed: null, undelivered: "",
        });
      case "question_closed":
        return this.questionClosed(event);
      case "question_delivered":
        if (event.delivered === false) this.mend<QuestionBlock>(`question:${event.question}`, { undelivered: event.why || "gone" });
        return;
      case "verdict_given":
        this.because(event.tool_use, event.because);
        this.facts.verdicts = event.behavior === "deny"
          ? { ...this.facts.verdicts, denied: this.facts.verdicts.denied + 1 }
          : { ...this.facts.verdicts, rule: this.facts.verdicts.rule + 1 };
        return;
      case "usage_reported":
        this.facts.turnCost = event.cost_usd ?? 0;
        return;
      case "api_retried":
        this.facts.retry = { attempt: event.attempt ?? 0, of: event.of ?? 0, at: event.at, delay: event.delay_ms ?? 0 };
        return;
      case "status_changed":
        if (event.status !== "rate_limited") this.facts.retry = null;
        return;
      case "session_created":
      case "tools_summarised":
      case "files_saved":
      case "context_compacting":
        return;
      case "process_started":
      case "process_ended":
        return event.kind === "process_ended" && !event.wanted ? note("bad") : note("system");
      case "session_changed":
      case "stop_rung":
      case "sign_in_changed":
      case "mcp_changed":
      case "hook_ran":
        return note("system");
      case "link_lost":
      case "link_restored":
      case "rate_limit_changed":
      case "grant_ended":
      case "mode_changed":
      case "model_changed":
      case "files_rewound":
      case "noted":
        return note("plain");
      case "context_compacted":
      case "context_cleared":
        return note("boundary");
      case "warning":
      case "line_dropped":
        return note("warn");
      case "failed":
        return note("bad");
      case "unrecognised":
        return note("plain");
      default:
        return note("plain");  // a newer hub's: shown with its name, never hidden
    }
  }

  live(event: AnyEvent): void {
    switch (event.kind) {
      case "text_delta":
        return this.grow(event.block, event.text, event.begins ?? 0, event, "text");
      case "thinking_delta":
        return this.grow(event.block, event.text, event.begins ?? 0, event, "thinking");
      case "tool_progressed":
        return;
      default:
        return;
    }
  }

  private grow(block: string, text: string, begins: number, event: AnyEvent, kind: "text" | "thinking"): void {
    const key = `block:${block}`;
    const known = this.log.blocks.get(key) as TextBlock | ThinkingBlock | undefined;
    if (known && !known.open) return;
    const before = known?.text ?? "";
    if (begins > before.length) return;
    const whole = before.slice(0, begins) + text;
    if (known) return this.mend<TextBlock | ThinkingBlock>(key, { text: whole });
    const common = { key, seq: this.log.seq, at: event.at || 0, text: whole, open: true };
    if (kind === "text") this.put({ ...common, kind, cut: false, error: "" }, event.parent);
    else this.put({ ...common, kind, redacted: false, ms: null }, event.parent);
  }

  private said(block: string | undefined, whole: TextBlock | ThinkingBlock, parent?: string | null): void {
    const key = block ? `block:${block}` : whole.key;
    this.put({ ...whole, key }, parent);
  }

  private handed(prompt: string, change: Partial<PromptBlock>): void {
    const key = `prompt:${prompt}`;
    const top = this.list(TOP);
    if (this.log.blocks.has(key) && !top.includes(key, Math.max(0, top.length - 400))) top.push(key);
    this.mend<PromptBlock>(key, change);
  }

  private toolStarted(event: ToolStarted, common: Common): void {
    this.put({
      ...common, key: `tool:${event.tool_use}`, kind: "tool", use: event.tool_use, tool: event.tool, does: event.does, title: event.title,
      input: event.input ?? {}, cut: event.cut ?? false, state: "running", output: "", outputCut: false, summary: "", ended: null,
      because: "", last: "", tools: 0,
    }, event.parent);
    const parent = event.parent && this.log.blocks.get(`tool:${event.parent}`);
    if (parent && parent.kind === "tool") this.mend<ToolBlock>(parent.key, { tools: parent.tools + 1, last: `${event.tool} ${event.title}` });
  }

  private toolFinished(event: ToolFinished, common: Common): void {
    const key = `tool:${event.tool_use}`;
    if (!this.log.blocks.has(key)) {
      this.put({
        ...common, key, kind: "tool", use: event.tool_use, tool: event.tool ?? "", does: "other", title: event.title ?? "", input: {},
        cut: false, state: "running", output: "", outputCut: false, summary: "", ended: null, because: "", last: "", tools: 0,
      }, event.parent);
    }
    this.mend<ToolBlock>(key, {
      state: event.failed ? "failed" : "done", output: event.output ?? "", outputCut: event.cut ?? false, summary: event.summary ?? "",
      ended: event.at,
    });
    const tool = this.log.blocks.get(key) as ToolBlock;
    if (!tool.because) this.facts.verdicts = { ...this.facts.verdicts, cli: this.facts.verdicts.cli + 1 };
    if (!event.failed && tool.does === "edit") this.fileChanged(tool);
  }

  private fileChanged(tool: ToolBlock): void {
    const path = String(tool.input.file_path ?? tool.input.notebook_path ?? tool.title);
    const { plus, minus } = countsOf(tool.input);
    const added = (files: Record<string, Changed>) => {
      const before = files[path] ?? { plus: 0, minus: 0 };
      return { ...files, [path]: { plus: before.plus + plus, minus: before.minus + minus } };
    };
    this.facts.files = added(this.facts.files);
    this.facts.turnFiles = added(this.facts.turnFiles);
  }

  private task(event: Extract<AnyEvent, { kind: "task_started" | "task_changed" | "task_ended" }>): void {
    const use = event.kind === "task_changed" ? null : event.tool_use;
    if (!use || !this.log.blocks.has(`tool:${use}`)) return;
    if (event.kind === "task_ended") this.mend<ToolBlock>(`tool:${use}`, event.tools == null ? {} : { tools: event.tools });
  }

  private questionClosed(event: QuestionClosed): void {
    this.mend<QuestionBlock>(`question:${event.question}`, { closed: event });
    if (event.fate !== "answered") return;
    const by = event.by ?? "";
    if (event.behavior === "allow") this.because(event.tool_use, event.because_kind === "person" ? `allowed by ${by}` : (event.because ?? ""));
    const verdicts = { ...this.facts.verdicts };
    if (event.behavior === "deny") verdicts.denied++;
    else if (by) verdicts.people = { ...verdicts.people, [by]: (verdicts.people[by] ?? 0) + 1 };
    this.facts.verdicts = verdicts;
  }

  private because(use: string | null | undefined, words: string): void {
    if (use) this.mend<ToolBlock>(`tool:${use}`, { because: words });
  }

  private turnEnded(event: TurnEnded, common: Common): void {
    for (const [key, block] of this.log.blocks) {
      if ((block.kind === "text" || block.kind === "thinking") && block.open) this.mend<TextBlock>(key, { open: false });
    }
    const files = Object.values(this.facts.turnFiles);
    this.put({
      ...common, kind: "turn", end: event, files: files.length, plus: files.reduce((n, file) => n + file.plus, 0),
      minus: files.reduce((n, file) => n + file.minus, 0),
    });
    this.facts.turn = null;
  }
}

const lines = (text: unknown): number => (typeof text === "string" && text ? text.replace(/\n$/, "").split("\n").length : 0);

/** Lines that an edit's own input puts in and takes out. */
export function countsOf(input: Record<string, unknown>): Changed {
  if (Array.isArray(input.edits)) {
    return (input.edits as Record<string, unknown>[]).map(countsOf).reduce((a, b) => ({ plus: a.plus + b.plus, minus: a.minus + b.minus }), { plus: 0, minus: 0 });
  }
  const [before, after] = [String(input.old_string ?? ""), String(input.new_string ?? input.content ?? input.new_source ?? "")];
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  if (!before) return { plus: lines(after), minus: 0 };
  return { plus: b.length - head - tail, minus: a.length - head - tail };
}
