// The one socket: what was heard, what is to be said, which actions wait for their acknowledgement. Refuses to know what they mean.
//
// An action keeps its id over every try, so that the hub does it once. It is lost never: it is acknowledged, refused, taken back,
// or given back after its time.
import { ask, newId, Problem } from "./http";
import type { AnyEvent, Verbs } from "./types";

export type Link = "live" | "reconnecting" | "offline" | "restarting" | "signed_out";
export const PING = 700;
export const LOST = 1500;
export const OFFLINE = 6000;
const FIRST = 300;
const LONGEST = 10_000;
const OPEN = 1;

interface Heard {
  session?: string;
  events?: AnyEvent[];
  live?: AnyEvent[];
  all?: boolean;
  subscribed?: string;
  subscribed_all?: boolean;
  pong?: unknown;
  goodbye?: string;
  ack?: string;
  ok?: boolean;
  result?: unknown;
  problem?: { status: number; detail?: string; code?: string; by?: string };
}

export interface Action<T = unknown> {
  id: string;
  done: Promise<T>;
  /** True: it was not on the wire yet, or is not acknowledged, and will not be tried again. */
  takeBack(): void;
}

interface Waiting {
  frame: string;
  until: number;
  resolve(result: unknown): void;
  reject(problem: Problem): void;
}

export interface Ears {
  link(link: Link): void;
  events(session: string, events: AnyEvent[], all: boolean): void;
  live(session: string, events: AnyEvent[]): void;
  subscribed(session: string): void;
  /** Connected: whatever is shown may be old. */
  back(): void;
}

export class Live {
  heard = 0;
  private socket: WebSocket | null = null;
  private waiting = new Map<string, Waiting>();
  private watched = new Map<string, () => number>();
  private wanted = false;
  private goodbye = false;
  private tries = 0;
  private pinged = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private clock: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly ears: Ears) {}

  open(): void {
    this.wanted = true;
    this.heard ||= Date.now();
    this.clock ??= setInterval(() => this.tick(), 250);
    if (!this.socket) this.dial();
  }

  close(): void {
    this.wanted = false;
    clearTimeout(this.timer);
    clearInterval(this.clock);
    this.clock = undefined;
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    for (const one of this.waiting.values()) one.reject(new Problem(401, "Signed out before it was sent."));
    this.waiting.clear();
  }

  /** ``after`` is asked anew at each reconnect: nothing is missed, nothing comes twice. */
  watch(session: string, after: () => number): () => void {
    this.watched.set(session, after);
    this.say({ subscribe: session, after: after() });
    return () => {
      if (this.watched.get(session) !== after) return;
      this.watched.delete(session);
      this.say({ unsubscribe: session });
    };
  }

  act<V extends keyof Verbs, T>(verb: V, ids: Partial<Record<Verbs[V]["needs"], string>>, body: Verbs[V]["body"], hold = Infinity): Action<T> {
    const id = newId();
    const frame = JSON.stringify({ id, do: verb, ...ids, body: { ...body, client_id: id } });
    const done = new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { frame, until: Date.now() + hold, resolve: resolve as (result: unknown) => void, reject });
    });
    this.send(frame);
    return { id, done, takeBack: () => this.giveBack(id, "Taken back.") };
  }

  atOnce(): void {
    if (!this.wanted || this.socket) return;
    this.tries = 0;
    clearTimeout(this.timer);
    void this.retry();
  }

  private dial(): void {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/live`);
    this.socket = socket;
    socket.onopen = () => {
      this.tries = 0;
      this.say({ subscribe_all: true });
      for (const [session, after] of this.watched) this.say({ subscribe: session, after: after() });
      for (const one of this.waiting.values()) this.send(one.frame);
    };
    socket.onmessage = (message) => this.hear(JSON.parse(message.data as string) as Heard);
    socket.onclose = (end) => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (end.code === 4401) this.ears.link("signed_out");
      else this.again();
    };
  }

  private again(): void {
    if (!this.wanted) return;
    const wait = Math.min(LONGEST, FIRST * 2 ** this.tries++) * (0.75 + Math.random() / 2);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.retry(), wait);
    this.tick();
  }

  /** A refused upgrade tells no status: whether we are still known is asked first. */
  private async retry(): Promise<void> {
    try {
      await ask("GET", "/me");
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401) this.ears.link("signed_out");
      else this.again();
      return;
    }
    if (this.wanted && !this.socket) this.dial();
  }

  private hear(said: Heard): void {
    this.heard = Date.now();
    if (said.goodbye !== undefined) this.goodbye = true;
    if (said.subscribed_all) {
      this.goodbye = false;
      this.ears.back();
    }
    if (said.session !== undefined && said.events) this.ears.events(said.session, said.events, Boolean(said.all));
    if (said.session !== undefined && said.live) this.ears.live(said.session, said.live);
    if (said.subscribed !== undefined) this.ears.subscribed(said.subscribed);
    if (said.ack !== undefined) this.acknowledged(said);
    this.tick();
  }

  private acknowledged(said: Heard): void {
    const one = this.waiting.get(said.ack!);
    this.waiting.delete(said.ack!);
    if (said.ok) one?.resolve(said.result);
    else one?.reject(new Problem(said.problem?.status ?? 500, said.problem?.detail ?? "The hub refused.", said.problem?.code, said.problem?.by));
  }

  private giveBack(id: string, words: string): void {
    const one = this.waiting.get(id);
    this.waiting.delete(id);
    one?.reject(new Problem(0, words, "given_back"));
  }

  private say(message: unknown): void {
    this.send(JSON.stringify(message));
  }

  private send(frame: string): void {
    if (this.socket?.readyState === OPEN) this.socket.send(frame);
  }

  private tick(): void {
    if (!this.wanted) return;
    const now = Date.now();
    const silent = now - this.heard;
    for (const [id, one] of this.waiting) if (now > one.until) this.giveBack(id, "Not sent. Answer again?");
    if (this.socket?.readyState === OPEN && now - this.pinged >= PING) {
      this.pinged = now;
      this.say({ ping: now });
    }
    if (this.socket && silent > 2 * OFFLINE) {
      const half = this.socket;  // a half-open one: the browser would wait for minutes
      this.socket = null;
      half.close();
      this.again();
    }
    this.ears.link(this.state(silent));
  }

  private state(silent: number): Link {
    if (this.socket?.readyState === OPEN && silent <= LOST) return "live";
    if (this.goodbye && silent < OFFLINE) return "restarting";
    return silent > OFFLINE || !navigator.onLine ? "offline" : "reconnecting";
  }
}
