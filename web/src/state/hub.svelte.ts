// What the whole page knows: who is here, the link, every session and open question. Refuses to guess: it asks again when told.
import { SvelteMap } from "svelte/reactivity";
import { ask, Problem } from "../api/http";
import { type Action, Live, type Link } from "../api/live";
import type { AnyEvent, Health, Me, Page, QuestionView, SessionView, Verbs } from "../api/types";
import { beat, clock } from "./clock.svelte";
import { SessionStore } from "./session.svelte";

const SOON = 120;
const RECEIPT = 4000;
const ANSWER_HELD = 30_000;

/** A question as the page has it: ``state`` of the view says whether it is open. */
class Hub {
  me = $state.raw<Me | null>(null);
  signedIn = $state<"unknown" | "yes" | "no">("unknown");
  signInWords = $state("");
  link = $state<Link>("reconnecting");
  health = $state.raw<Health | null>(null);
  sessions = $state.raw<SessionView[]>([]);
  loaded = $state(false);
  more = $state(false);
  questions = new SvelteMap<string, QuestionView>();
  trouble = $state("");
  heard = $state(0);
  /** Closed ones that stay until somebody puts them away: words that were typed and not sent stand on them. */
  held = new Set<string>();
  private stores = new Map<string, SessionStore>();
  private waiting = 0;
  private asking = false;
  private stale = false;

  readonly live = new Live({
    link: (link) => this.linked(link),
    events: (session, events, all) => this.events(session, events, all),
    live: (session, events) => this.stores.get(session)?.live(events),
    subscribed: (session) => this.stores.get(session)?.caughtUp(),
    back: () => {
      this.soon();
      for (const store of this.stores.values()) void store.refresh();
    },
  });

  open = $derived([...this.questions.values()].filter((one) => one.state === "open").sort((a, b) => a.opened_at - b.opened_at));

  async begin(): Promise<void> {
    try {
      this.me = await ask<Me>("GET", "/me");
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401) {
        this.signedIn = "no";
        return;
      }
    }
    this.signedIn = "yes";
    this.signInWords = "";
    this.live.open();
    void this.refresh();
  }

  async signIn(code: string): Promise<void> {
    try {
      await ask("POST", "/signin", { code, device: device() });
      await this.begin();
    } catch (problem) {
      this.signInWords = (problem as Error).message;
      this.signedIn = "no";
    }
  }

  async signOut(): Promise<void> {
    await ask("DELETE", "/devices/me").catch(() => undefined);
    for (const key of Object.keys(localStorage)) if (/^(draft:|unsent:|new$)/.test(key)) localStorage.removeItem(key);
    this.signedOut("");
  }

  act<V extends keyof Verbs, T = unknown>(verb: V, ids: Partial<Record<Verbs[V]["needs"], string>>, body: Verbs[V]["body"]): Action<T> {
    return this.live.act<V, T>(verb, ids, body, verb === "answer" ? ANSWER_HELD : Infinity);
  }

  session(id: string): SessionStore {
    let store = this.stores.get(id);
    if (!store) this.stores.set(id, (store = new SessionStore(id, this)));
    return store;
  }

  drop(id: string): void {
    this.stores.delete(id);
  }

  /** With what its offers matched in the past; a card asks for it when it is shown. */
  async question(id: string): Promise<void> {
    const found = await ask<QuestionView>("GET", `/questions/${encodeURIComponent(id)}`).catch(() => null);
    if (found) this.keep(found);
  }

  keep(question: QuestionView): void {
    const known = this.questions.get(question.id);
    if (known && known.state !== "open" && question.state === "open") return;
    this.questions.set(question.id, question);
    if (question.state !== "open") {
      setTimeout(() => {
        if (!this.held.has(question.id)) this.questions.delete(question.id);
      }, RECEIPT);
    }
  }

  putAway(id: string): void {
    this.held.delete(id);
    this.questions.delete(id);
  }

  // At most a few times a second however much happens, and always once after the last thing.
  soon(): void {
    if (!this.waiting) {
      this.waiting = window.setTimeout(() => {
        this.waiting = 0;
        void this.refresh();
      }, document.hidden ? 1000 : SOON);
    }
  }

  async refresh(): Promise<void> {
    if (this.asking) {
      this.stale = true;
      return;
    }
    this.asking = true;
    try {
      const [health, sessions, questions] = await Promise.all([
        ask<Health>("GET", "/health"), ask<Page>("GET", "/sessions?limit=200"), ask<Page>("GET", "/questions"),
      ]);
      this.health = health;
      this.sessions = sessions.items as SessionView[];
      this.more = sessions.next !== null;
      this.trouble = health.state === "ok" ? "" : health.why;
      this.reconcile(questions.items as QuestionView[]);
      this.loaded = true;
      if (!health.claude_found && !health.sim) setTimeout(() => this.soon(), 2000);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401) this.signedOut("");
      else if (problem instanceof Problem) this.trouble = problem.message;
    } finally {
      this.asking = false;
      if (this.stale) {
        this.stale = false;
        this.soon();
      }
    }
  }

  private reconcile(open: QuestionView[]): void {
    const there = new Set(open.map((one) => one.id));
    for (const question of open) if (!this.questions.has(question.id)) this.keep(question);
    for (const [id, question] of this.questions) if (question.state === "open" && !there.has(id)) void this.question(id);
  }

  private events(session: string, events: AnyEvent[], all: boolean): void {
    if (!all) this.stores.get(session)?.told(events);
    else {
      for (const event of events) if (event.kind === "question_closed" && this.questions.has(event.question)) void this.question(event.question);
      this.soon();
    }
  }

  private linked(link: Link): void {
    if (link === "signed_out") return this.signedOut("You were signed out.");
    this.link = link;
    this.heard = this.live.heard;
    clock.stands = link !== "live";
    if (link === "live") beat();
  }

  private signedOut(words: string): void {
    this.live.close();
    this.signInWords = words;
    this.signedIn = "no";
  }
}

function device(): string {
  const agent = navigator.userAgent;
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((name) => agent.includes(name)) ?? "browser";
  const system = ["Android", "iPhone", "iPad", "Mac", "Windows", "Linux"].find((name) => agent.includes(name)) ?? "";
  return `${browser.replace("Edg", "Edge")} ${system}`.trim();
}

export const hub = new Hub();
addEventListener("online", () => hub.live.atOnce());
addEventListener("focus", () => hub.live.atOnce());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) hub.live.atOnce();
});
export type { Hub };
