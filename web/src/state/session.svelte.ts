// One session that somebody looks at: its log as blocks, its queue, what is on its way. Refuses to show what is not stored as stored.
import { SvelteMap } from "svelte/reactivity";
import { ask, Problem } from "../api/http";
import type { Action } from "../api/live";
import type { AnyEvent, PromptView, SessionView, Snapshot } from "../api/types";
import type { Hub } from "./hub.svelte";
import { apply, applyLive, type Block, type Facts, Log } from "./log";

const TAIL = 3000;

export interface Unsent {
  id: string;
  text: string;
  action: Action;
  problem: string;
}

export class SessionStore {
  log: Log;
  facts = $state.raw<Facts>(new Log().facts);
  view = $state.raw<SessionView | null>(null);
  queue = $state.raw<PromptView[]>([]);
  unsent = $state.raw<Unsent[]>([]);
  problem = $state("");
  loaded = $state(false);
  seq = $state(0);
  earlier = $state(false);
  private watching: (() => void) | null = null;
  private lookers = 0;
  private asked = 0;
  private shown = 0;

  constructor(readonly id: string, private readonly hub: Hub) {
    this.log = $state.raw(this.fresh());
  }

  private fresh(): Log {
    return new Log(new SvelteMap<string, Block>(), new SvelteMap<string, string[]>());
  }

  /** Somebody looks at it; the other half is called when they look away. */
  look(): () => void {
    if (this.lookers++ === 0) void this.refresh();
    return () => {
      if (--this.lookers > 0) return;
      this.watching?.();
      this.watching = null;
      this.hub.drop(this.id);
    };
  }

  private listen(view: SessionView): void {
    this.log.seq = Math.max(0, view.last_seq - TAIL);
    this.earlier = this.log.seq > 0;
    this.watching = this.hub.live.watch(this.id, () => this.log.seq);
  }

  /** The whole log from its first event; the window of blocks on the page stays as small as it was. */
  async loadEarlier(): Promise<void> {
    this.watching?.();
    this.log = this.fresh();
    this.earlier = false;
    this.watching = this.hub.live.watch(this.id, () => this.log.seq);
  }

  async refresh(): Promise<void> {
    const mine = ++this.asked;
    try {
      const found = await ask<Snapshot>("GET", `/sessions/${encodeURIComponent(this.id)}`);
      if (mine < this.shown) return; // an answer that was overtaken
      this.shown = mine;
      this.view = found.session;
      this.queue = found.queue;
      this.problem = "";
      if (this.lookers && !this.watching) this.listen(found.session);
      for (const question of found.questions) if (!this.hub.questions.has(question.id)) this.hub.keep(question);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 404) this.problem = problem.message;
    }
  }

  told(events: AnyEvent[]): void {
    apply(this.log, events);
    this.facts = this.log.facts;
    this.seq = this.log.seq;
    if (events.some((event) => CHANGES.has(event.kind))) void this.refresh();
  }

  live(events: AnyEvent[]): void {
    applyLive(this.log, events);
  }

  caughtUp(): void {
    this.loaded = true;
  }

  async send(text: string, when: "next" | "now"): Promise<void> {
    const action = this.hub.act("prompt", { session: this.id }, { text, when });
    this.hold([...this.unsent, { id: action.id, text, action, problem: "" }]);
    try {
      await action.done;
      this.hold(this.unsent.filter((one) => one.id !== action.id));
      void this.refresh();
    } catch (problem) {
      const words = (problem as Problem).code === "given_back" ? "" : (problem as Error).message;
      this.hold(words
        ? this.unsent.map((one) => (one.id === action.id ? { ...one, problem: words } : one))
        : this.unsent.filter((one) => one.id !== action.id));
    }
  }

  discard(id: string): void {
    this.unsent.find((one) => one.id === id)?.action.takeBack();
    this.hold(this.unsent.filter((one) => one.id !== id));
  }

  /** Kept on this device, too: after a reload what was not sent is a draft again. */
  private hold(unsent: Unsent[]): void {
    this.unsent = unsent;
    const key = `unsent:${this.id}`;
    if (unsent.length) localStorage.setItem(key, unsent.map((one) => one.text).join("\n\n"));
    else localStorage.removeItem(key);
  }
}

const CHANGES = new Set([
  "status_changed", "prompt_queued", "prompt_changed", "prompt_sent", "prompt_withdrawn", "prompt_failed", "prompt_taken", "mode_changed", "model_changed",
  "usage_reported", "session_changed", "question_opened", "question_closed",
]);
