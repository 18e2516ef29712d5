// The plain page: sign in, sessions and open questions as they change, allow and deny. Everything that is shown is put in as
// text; nothing from a session is ever read as HTML.

const API = "/api/v1";
const PING = 700;          // how often we ask whether the hub is there
const LOST = 1500;         // silence after which we say "reconnecting" (within two seconds)
const OFFLINE = 6000;      // and "offline" (within seven)
const TOO_SOON = 400;      // a click this soon after a card appeared was meant for something else

const by = (id) => document.getElementById(id);
const make = (tag, words = "", kind = "") => {
  const element = document.createElement(tag);
  element.textContent = words;
  if (kind) element.className = kind;
  return element;
};

class Problem extends Error {
  constructor(status, words) { super(words); this.status = status; }
}

async function ask(method, path, body) {
  const settings = { method, headers: {}, cache: "no-store" };
  if (body !== undefined) {
    settings.headers["Content-Type"] = "application/json";
    settings.body = JSON.stringify(body);
  }
  const answer = await fetch(API + path, settings);
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, found.detail || `The hub said ${answer.status}.`);
  return found;
}

// -- signing in

const show = (...ids) => {
  for (const id of ["signin", "install", "inbox", "list", "foot"]) by(id).hidden = !ids.includes(id);
};

async function signIn(code) {
  try {
    await ask("POST", "/signin", { code, device: device() });
    by("code").value = "";
    await begin();
  } catch (problem) {
    show("signin");
    by("signin-words").textContent = problem.message;
  }
}

function device() {
  const agent = navigator.userAgent;
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((name) => agent.includes(name)) || "browser";
  const system = ["Android", "iPhone", "iPad", "Mac", "Windows", "Linux"].find((name) => agent.includes(name)) || "";
  return `${browser.replace("Edg", "Edge")} ${system}`.trim();
}

function signedOut(words) {
  live.close();
  link("signed out");
  by("me").textContent = "";
  show("signin");
  if (words) by("signin-words").textContent = words;
}

// -- the connection

const live = { socket: null, heard: 0, since: 0, tries: 0, timer: 0, wanted: false, goodbye: false, pinged: 0 };

live.open = () => {
  clearTimeout(live.timer);
  live.wanted = true;
  if (live.socket) return;
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${API}/live`);
  live.socket = socket;
  socket.onopen = () => {
    live.tries = 0;
    socket.send(JSON.stringify({ subscribe_all: true }));
  };
  socket.onmessage = (message) => {
    live.heard = Date.now();
    const said = JSON.parse(message.data);
    if (said.goodbye) live.goodbye = true;
    if (said.subscribed_all) { live.goodbye = false; refresh(); }
    if (said.events) soon();
    draw();
  };
  socket.onclose = (end) => {
    if (live.socket !== socket) return;
    live.socket = null;
    if (end.code === 4401) return signedOut("You were signed out.");
    again();
  };
};

live.close = () => {
  live.wanted = false;
  clearTimeout(live.timer);
  if (live.socket) { const socket = live.socket; live.socket = null; socket.close(); }
};

function again() {
  if (!live.wanted) return;
  const wait = Math.min(10000, 300 * 2 ** live.tries++) * (0.75 + Math.random() / 2);
  clearTimeout(live.timer);
  live.timer = setTimeout(retry, wait);
  draw();
}

async function retry() {
  // a refused upgrade tells no status: whether we are still known is asked first
  try { await ask("GET", "/me"); } catch (problem) {
    if (problem.status === 401) return signedOut("Sign in again: this device is no longer known.");
    return again();
  }
  live.open();
}

const atOnce = () => { if (live.wanted && !live.socket) { live.tries = 0; clearTimeout(live.timer); retry(); } };
addEventListener("online", atOnce);
addEventListener("focus", atOnce);
document.addEventListener("visibilitychange", () => { if (!document.hidden) atOnce(); });

setInterval(() => {
  if (!live.wanted) return;
  const now = Date.now();
  if (live.socket && live.socket.readyState === WebSocket.OPEN && now - live.pinged >= PING) {
    live.pinged = now;
    live.socket.send(JSON.stringify({ ping: now }));
  }
  if (live.socket && now - live.heard > 2 * OFFLINE && live.heard) {  // half-open: the browser would wait for minutes
    const socket = live.socket;
    live.socket = null;
    socket.close();
    again();
  }
  draw();
}, 250);

function link(words, good = false) {
  const line = by("link");
  if (line.textContent !== words) line.textContent = words;
  line.className = good ? "live" : "";
}

function draw() {
  if (!live.wanted) return;
  const silent = Date.now() - live.heard;
  const strip = by("strip");
  const lost = silent > LOST || !live.socket;
  document.querySelector("main").className = lost ? "stale" : "";
  if (!lost) { strip.hidden = !trouble; strip.textContent = trouble; return link("live", true); }
  strip.hidden = false;
  if (live.goodbye && silent < OFFLINE) { link("reconnecting"); strip.textContent = "Hub restarting. Turns go on."; return; }
  if (silent > OFFLINE || !navigator.onLine) {
    link("offline");
    strip.textContent = `Offline. What you see is from ${new Date(live.heard).toLocaleTimeString()}.`;
  } else {
    link("reconnecting");
    strip.textContent = `Connection lost ${Math.max(1, Math.round(silent / 1000))} s ago. Trying again.`;
  }
}

// -- what is shown

let trouble = "";
let waiting = 0;
let looking = 0;

const soon = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 100); };

async function refresh() {
  try {
    const [health, sessions, questions] = await Promise.all([
      ask("GET", "/health"), ask("GET", "/sessions?limit=200"), ask("GET", "/questions"),
    ]);
    trouble = health.state === "ok" ? "" : health.why;
    const missing = !health.claude_found && !health.sim;
    show("list", "foot", ...(questions.items.length ? ["inbox"] : []), ...(missing ? ["install"] : []));
    drawQuestions(questions.items);
    drawSessions(sessions.items);
    document.title = questions.items.length ? `(${questions.items.length}) ropewalk` : "ropewalk";
    clearTimeout(looking);
    if (missing) { looking = setTimeout(refresh, 3000); offerFolder(); }
  } catch (problem) {
    if (problem.status === 401) signedOut("Sign in again: this device is no longer known.");
  }
}

const GLYPHS = { needs_you: "◆", working: "●", quiet: "○" };
const age = (at) => {
  const seconds = Math.max(0, Date.now() / 1000 - at);
  if (!at) return "";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
};

function drawSessions(items) {
  by("empty").hidden = items.length > 0;
  by("sessions").replaceChildren(...items.map((session) => {
    const row = make("li");
    const top = make("div", "", "top");
    const kind = session.status === "failed" ? "failed" : session.group;
    top.append(make("span", `${GLYPHS[session.group] || "○"} ${session.status.replaceAll("_", " ")}`, `status ${kind}`));
    top.append(make("span", session.title || session.id, "title"));
    if (session.sim) top.append(make("span", "stand-in", "mark"));
    row.append(top, make("div", [session.why, session.cwd, money(session.cost_usd), age(session.status_at)].filter(Boolean).join(" · "), "dim"));
    return row;
  }));
}

const money = (dollars) => (!dollars ? "" : dollars < 0.01 ? "<$0.01" : `$${dollars.toFixed(2)}`);

const cards = new Map();

function drawQuestions(items) {
  by("inbox-title").textContent = items.length === 1 ? "1 question needs you" : `${items.length} questions need you`;
  const open = new Set(items.map((question) => question.id));
  for (const [id, card] of cards) if (!open.has(id)) { card.remove(); cards.delete(id); }
  for (const question of items) {
    if (cards.has(question.id)) continue;  // a card that stands is not drawn again under somebody's finger
    const card = cardOf(question);
    cards.set(question.id, card);
    by("questions").append(card);
  }
}

function cardOf(question) {
  const card = make("li");
  const born = Date.now();
  const top = make("div", "", "top");
  top.append(make("span", question.title_words || question.tool || "A question", "title"), make("span", question.session_title, "dim"));
  card.append(top);
  if (question.description) card.append(make("div", question.description));
  card.append(make("pre", wordsOf(question)));
  card.append(make("div", [question.cwd, question.reason, question.opened_at ? `waits ${age(question.opened_at)}` : ""].filter(Boolean).join(" · "), "dim"));
  if (!question.may_answer) { card.append(make("p", "Your role only watches.", "dim")); return card; }
  const acts = make("div", "", "acts");
  const words = make("p", "", "words");
  const answer = (body) => async () => {
    if (Date.now() - born < TOO_SOON) return;
    for (const button of acts.querySelectorAll("button")) button.disabled = true;
    try { await ask("POST", `/questions/${encodeURIComponent(question.id)}/answer`, { ...body(), client_id: crypto.randomUUID() }); soon(); } catch (problem) {
      words.textContent = problem.message;
      for (const button of acts.querySelectorAll("button")) button.disabled = false;
      if (problem.status === 409) soon();
    }
  };
  if (question.asks === "permission") {
    const allow = make("button", "Allow once");
    allow.onclick = answer(() => ({ behavior: "allow" }));
    acts.append(allow);
  } else {
    card.append(make("p", `Answer it in a terminal: ropewalk answer ${question.id}`, "dim"));
  }
  const why = make("input");
  why.placeholder = "Why not? (the model reads it)";
  why.setAttribute("aria-label", "Reason to deny");
  const deny = make("button", "Deny");
  deny.onclick = answer(() => (why.value ? { behavior: "deny", message: why.value } : { behavior: "deny" }));
  acts.append(deny, why);
  card.append(acts, words);
  return card;
}

// Letters that change what others look like, or can't be seen, are shown as what they are.
const visible = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g,
  (letter) => `\u27e8U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);

function wordsOf(question) {
  const input = question.input || {};
  if (typeof input.command === "string") return visible(input.command);
  if (Object.keys(input).length) return visible(JSON.stringify(input, null, 2));
  return visible(question.line || question.tool);
}

// -- without claude

let offered = false;

async function offerFolder() {
  if (offered) return;
  offered = true;
  try {
    const found = await ask("GET", "/runners/local/folders?q=" + encodeURIComponent("~/"));
    if (found.items.length && !by("folder").value) by("folder").value = found.items[0].replace(/\/[^/]*$/, "") || "/";
  } catch { /* the field stays empty, and a person fills it in */ }
}

by("try").onsubmit = async (event) => {
  event.preventDefault();
  const words = by("try-words");
  try {
    const made = await ask("POST", "/sessions", {
      cwd: by("folder").value, prompt: "Tidy up this folder", options: { sim: true }, client_id: crypto.randomUUID(),
    });
    words.textContent = `Started: ${made.title || made.id}. Its questions appear above.`;
    soon();
  } catch (problem) { words.textContent = problem.message; }
};

by("copy").onclick = async () => {
  const words = by("install-command").textContent;
  try { await navigator.clipboard.writeText(words); by("copy").textContent = "Copied"; } catch {
    getSelection().selectAllChildren(by("install-command"));  // without https a browser copies only what a person selects
    by("copy").textContent = "Press Ctrl C";
  }
};

by("signin").querySelector("form").onsubmit = (event) => { event.preventDefault(); signIn(by("code").value); };
by("signout").onclick = async () => { await ask("DELETE", "/devices/me").catch(() => {}); signedOut("Signed out."); };

// -- begin

async function begin() {
  try {
    const me = await ask("GET", "/me");
    by("me").textContent = `${me.name} · ${me.roles.includes("admin") ? "admin" : me.roles.join(", ")}`;
  } catch (problem) {
    if (problem.status === 401) return signedOut("");
  }
  if (location.pathname !== "/") history.replaceState(null, "", "/");
  live.heard = Date.now();
  live.open();
  refresh();
}

const code = decodeURIComponent(location.hash.slice(1));
if (location.hash) history.replaceState(null, "", location.pathname);  // the code leaves the address before anything is asked
if (code) signIn(code); else begin();
