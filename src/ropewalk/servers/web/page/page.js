// The plain page: sign in, sessions and open questions as they change, every question answered. Everything that is shown is put
// in as text; nothing from a session is ever read as HTML.

const API = "/api/v1";
const PING = 700;          // how often we ask whether the hub is there
const LOST = 1500;         // silence after which we say "reconnecting" (within two seconds)
const OFFLINE = 6000;      // and "offline" (within seven)
const TOO_SOON = 400;      // a click this soon after a card appeared or moved was meant for something else
const TYPED = 800;         // and a key this soon, or this soon after another one
const RECEIPT = 6000;      // how long a card says how it was answered
const SHOWN = 200;         // sessions on the page
const LONG_COMMAND = 120000;

const by = (id) => document.getElementById(id);

// Letters that change what others look like, or can't be seen, are shown as what they are.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f]|(?! )\p{Zs}/gu;
const HARMLESS = /[\n\t\u200d\ufe0f]/;  // the last two join and colour emoji
const token = (letter) => `\u27e8U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
const hides = (text) => [...text.matchAll(UNSEEN)].some(([letter]) => !HARMLESS.test(letter));

function fill(element, text, exact = false) {
  let from = 0;
  for (const { 0: letter, index } of text.matchAll(UNSEEN)) {
    if (letter === "\n" || letter === "\t" || (!exact && (HARMLESS.test(letter) || /\p{Zs}/u.test(letter)))) continue;
    const mark = document.createElement("span");
    mark.className = "odd";
    mark.textContent = token(letter);
    element.append(text.slice(from, index), mark);
    from = index + letter.length;
  }
  element.append(text.slice(from));
  return element;
}

const make = (tag, words = "", kind = "", ...inside) => {
  const element = document.createElement(tag);
  fill(element, String(words ?? ""));
  if (kind) element.className = kind;
  element.append(...inside);
  return element;
};
// What a person decides about, letter by letter.
const exactly = (tag, words, kind = "") => { const element = make(tag, "", kind); return fill(element, words, true); };

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
let asking = false;
let stale = false;

// At most a few times a second however much happens, and always once after the last thing.
const soon = () => { if (!waiting) waiting = setTimeout(() => { waiting = 0; refresh(); }, document.hidden ? 2000 : 150); };

async function refresh() {
  if (asking) { stale = true; return; }
  asking = true;
  try {
    const [health, sessions, questions] = await Promise.all([
      ask("GET", "/health"), ask("GET", `/sessions?limit=${SHOWN}`), ask("GET", "/questions"),
    ]);
    trouble = health.state === "ok" ? "" : health.why;
    drawQuestions(questions.items, new Set(sessions.items.filter((session) => session.sim).map((session) => session.id)));
    drawSessions(sessions.items, Boolean(sessions.next));
    drawHealth(health);
    document.title = questions.items.length ? `(${questions.items.length}) ropewalk` : "ropewalk";
  } catch (problem) {
    if (problem.status === 401) signedOut("Sign in again: this device is no longer known.");
    else if (live.wanted) trouble = problem.status ? problem.message : "";
  } finally {
    asking = false;
    if (stale) { stale = false; soon(); }
  }
}

function drawHealth(health) {
  const missing = !health.claude_found && !health.sim;
  show("list", "foot", ...(by("questions").children.length ? ["inbox"] : []), ...(missing ? ["install"] : []));
  const claude = health.sim ? "every session on the stand-in" : health.claude;
  by("about").replaceChildren(fill(make("span"), [`ropewalk ${health.version}`, claude].filter(Boolean).join(" · ")));
  clearTimeout(looking);
  if (!missing) return;
  looking = setTimeout(refresh, 2000);
  offerFolder();
}

const STATUSES = {
  waiting: ["◆", "Waiting for you"], thinking: ["◔", "Thinking"], running_tool: ["◔", "Running"], rate_limited: ["◑", "Limit reached"],
  compacting: ["◔", "Compacting"], background: ["◔", "In the background"], starting: ["◔", "Starting"], idle: ["○", "Ready"],
  asleep: ["☾", "Asleep"], stopped: ["■", "Stopped"], failed: ["✕", "Failed"], unreachable: ["◌", "Out of reach"],
};
const FIXES = {
  answer: "", wake: "ropewalk wake ID", sign_in: "run claude and sign in with /login, then: ropewalk wake ID",
  send_again: "ropewalk prompt ID \"…\"", choose_folder: "ropewalk new --cwd DIR \"…\"", interrupt: "ropewalk interrupt ID",
};
const money = (dollars) => (!dollars ? "" : dollars < 0.01 ? "<$0.01" : `$${dollars.toFixed(2)}`);
const age = (at) => {
  const seconds = Math.max(0, Math.floor(Date.now() / 1000 - at));
  if (!at) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
};
// Counts on by itself while the connection stands.
const aged = (before, at, kind = "") => {
  const element = make("span", at ? before + age(at) : "", kind);
  if (at) Object.assign(element.dataset, { at, before });
  return element;
};
setInterval(() => {
  if (document.hidden || by("link").className !== "live") return;
  for (const element of document.querySelectorAll("[data-at]")) {
    const words = element.dataset.before + age(Number(element.dataset.at));
    if (element.textContent !== words) element.textContent = words;
  }
}, 1000);

// The shortest start of each id, of four letters or more, that no other one has: what a terminal takes.
function shortIds(ids) {
  const sorted = [...ids].sort();
  const alike = (one, other = "") => { let n = 0; while (n < one.length && one[n] === other[n]) n++; return n; };
  return new Map(sorted.map((id, n) => [id, id.slice(0, Math.max(4, alike(id, sorted[n - 1]) + 1, alike(id, sorted[n + 1]) + 1))]));
}

const rows = new Map();

function drawSessions(items, more) {
  by("empty").hidden = items.length > 0;
  by("more").hidden = !more;
  by("more").textContent = more ? `The first ${items.length} are shown; all of them: ropewalk ls` : "";
  const short = shortIds(items.map((session) => session.id));
  const wanted = items.map((session) => {
    const kept = rows.get(session.id);
    const likeness = JSON.stringify([session.status, session.why, session.title, session.cost_usd, session.status_at, session.fix, short.get(session.id)]);
    if (kept && kept.likeness === likeness) return kept;  // a row that says the same is left alone: somebody may be copying it
    const row = rowOf(session, short.get(session.id));
    rows.set(session.id, { row, likeness });
    if (kept) kept.row.replaceWith(row);
    return { row };
  });
  const list = by("sessions");
  wanted.forEach(({ row }, place) => { if (list.children[place] !== row) list.insertBefore(row, list.children[place] ?? null); });
  while (list.children.length > wanted.length) list.lastChild.remove();
  const here = new Set(items.map((session) => session.id));
  for (const id of rows.keys()) if (!here.has(id)) rows.delete(id);
}

function rowOf(session, short) {
  const [glyph, word] = STATUSES[session.status] || ["·", session.status.replaceAll("_", " ")];
  const kind = session.status === "failed" ? "failed" : session.group;
  const title = make("span", session.title || "(no title)", "title");
  if (session.sim) title.append(make("span", "stand-in", "mark"));
  const facts = make("div", [`${short}`, session.cwd, money(session.cost_usd), ""].filter((fact, n) => fact || n === 3).join(" · "), "dim rest");
  facts.append(aged("", session.status_at));
  const row = make("li", "", kind, make("span", `${glyph} ${word}`, "status"), title);
  if (session.why) row.append(make("div", session.why, "rest"));
  const fix = FIXES[session.fix] ?? (session.status === "failed" ? "ropewalk logs ID" : "");
  if (fix && kind !== "needs_you" && session.group !== "working") row.append(make("div", `help: ${fix.replace("ID", short)}`, "rest dim"));
  row.append(facts);
  return row;
}

// -- questions

const cards = new Map();
let me = "";
let moved = 0;   // when a card last came or went: what is under the pointer may be another one now
let typed = 0;   // when a key was last pressed

function drawQuestions(items, standIns) {
  const title = items.length === 0 ? "Nobody needs you" : items.length === 1 ? "1 question needs you" : `${items.length} questions need you`;
  if (by("inbox-title").textContent !== title) by("inbox-title").textContent = title;
  const open = new Set(items.map((question) => question.id));
  for (const [id, card] of cards) if (!open.has(id) && !card.closing) close(id, card);
  for (const question of items) {
    if (cards.has(question.id)) continue;  // a card that stands is not drawn again under somebody's finger
    const card = cardOf(question, standIns.has(question.session));
    cards.set(question.id, card);
    by("questions").append(card.element);
    by("announce").textContent = `Question in ${question.session_title || "a session"}: ${question.line || question.title_words}`;
  }
}

// Says how it ended and who ended it, then goes; what somebody had typed and not sent stays until they put it away.
async function close(id, card) {
  card.closing = true;
  const question = await ask("GET", `/questions/${encodeURIComponent(id)}`).catch(() => ({ state: "" }));
  if (question.state === "open") { card.closing = false; return; }
  const draft = [...card.element.querySelectorAll("input")].filter((field) => field.type === "text" && !card.sent).map((field) => field.value).filter(Boolean).join("\n");
  const focused = card.element.contains(document.activeElement);
  card.element.className = "closed";
  card.element.replaceChildren(make("h3", card.title), make("p", ended(question), "words"));
  moved = Date.now();
  if (focused) ([...cards.values()].find((other) => !other.closing)?.element.querySelector("h3") ?? by("inbox-title")).focus();
  const gone = () => {
    card.element.remove();
    cards.delete(id);
    moved = Date.now();
    if (!cards.size) by("inbox").hidden = true;
  };
  if (!draft) { setTimeout(gone, RECEIPT); return; }
  const away = make("button", "Put away");
  away.onclick = gone;
  card.element.append(make("p", "Not sent, yours:", "dim"), exactly("pre", draft), away);
}

function ended(question) {
  if (question.state === "withdrawn") return "Claude no longer asks this.";
  if (question.state === "lost") return "The process ended; it won't ask this again by itself.";
  if (question.state === "expired") return "It waited too long and was denied.";
  const { behavior, answers } = question.verdict || {};
  const message = answers ? Object.values(answers).join("; ") : question.verdict?.message;
  const verb = question.asks !== "permission" && behavior !== "deny" ? "Answered" : { allow: "✓ Allowed", deny: "✕ Denied" }[behavior] || "Answered";
  const who = question.by ? ` by ${question.by}${question.by === me && question.door === "page" ? " (you)" : question.door ? ` (${question.door})` : ""}` : "";
  return `${verb}${who}${message ? `: ${message}` : "."}`;
}

function cardOf(question, standIn) {
  const card = { born: Date.now(), title: question.title_words || question.tool || "A question", element: make("li"), sent: false, ids: new Map() };
  const title = make("h3", card.title);
  title.tabIndex = -1;
  const from = question.origin ? `from sub-agent ${question.origin}` : "";
  const where = make("span", [question.session_title, from].filter(Boolean).join(" · "), "dim");
  if (standIn) where.append(" ", make("span", "stand-in", "mark"));
  card.element.append(make("div", "", "head", title, where));
  const known = [question.input?.file_path, question.input?.notebook_path].some((path) => path?.endsWith?.(question.description));
  if (question.description && question.asks !== "choice" && !known) card.element.append(make("div", question.description));
  card.element.append(...bodyOf(question));
  const why = [question.reason, question.blocked_path && `blocked path ${question.blocked_path}`, question.cwd].filter(Boolean).join(" · ");
  const facts = make("div", why ? `${why} · ` : "", "dim");
  facts.append(aged("waits ", question.opened_at));
  card.element.append(facts);
  moved = Date.now();
  if (!question.may_answer) card.element.append(make("p", "You may watch here, not answer.", "dim"));
  else answering(card, question);
  return card;
}

// -- how a question is answered

function answering(card, question) {
  const words = make("p", "", "words bad");
  words.setAttribute("role", "status");
  const send = (body) => deliver(card, question.id, words, body);
  const form = { choice: choiceForm, plan: planForm, dialog: dialogForm }[question.asks] || permissionForm;
  form(card, question, send);
  card.element.append(words);
}

async function deliver(card, id, words, body) {
  if (Date.now() - Math.max(card.born, moved) < TOO_SOON || card.sent) return;
  const key = JSON.stringify(body);
  if (!card.ids.has(key)) card.ids.set(key, newId());  // the same answer sent again is the same answer
  const controls = card.element.querySelectorAll("button, input");
  const set = (sent, text) => { card.sent = sent; words.textContent = text; for (const one of controls) one.disabled = sent; };
  set(true, "Sending…");
  words.className = "words dim";
  try {
    await ask("POST", `/questions/${encodeURIComponent(id)}/answer`, { ...body, client_id: card.ids.get(key) });
    words.textContent = "Sent.";
    soon();
  } catch (problem) {
    set(false, problem.status ? problem.message : "Not sent: the hub can't be reached. Answer again when it is back.");
    words.className = "words bad";
    card.element.dispatchEvent(new Event("input"));  // a choice that is not complete can't be sent
    if (problem.status === 409) soon();
  }
}

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const button = (card, words, act, main = false) => {
  const made = make("button", words, main ? "main" : "");
  made.type = "button";
  made.onclick = act;
  if (main) card.main = made;
  return made;
};

const field = (label, kind = "") => {
  const made = make("input", "", kind);
  made.type = "text";
  made.placeholder = label;
  made.setAttribute("aria-label", label);
  made.autocomplete = "off";
  return made;
};

function denying(card, send, verb, hint, act = (message, interrupt) => ({ behavior: "deny", ...(message && { message }), ...(interrupt && { interrupt }) })) {
  const reason = field(hint, "reason");
  const stop = make("input");
  stop.type = "checkbox";
  const deny = button(card, verb, () => send(act(reason.value.trim(), stop.checked)));
  card.deny = deny;
  reason.onkeydown = (event) => { if (event.key === "Enter") deny.click(); };
  return [deny, reason, make("label", "", "tick", stop, "and stop the turn")];
}

function permissionForm(card, question, send) {
  const plans = question.tool === "EnterPlanMode";
  const allow = button(card, plans ? "Plan first" : "Allow once", () => send({ behavior: "allow" }), true);
  if (question.default_to_no || question.tags.length) allow.className = "";
  const refusals = denying(card, send, plans ? "Start now" : "Deny", "Why not? (Claude reads it)");
  card.element.append(grants(card, question, send), make("div", "", "acts", ...refusals, make("span", "", "spring"), allow));
}

// The CLI's own offers beside "once": the effect in words, and where it is kept. One is granted at a time.
const PLACES = {
  session: "this session", cliArg: "this process", localSettings: ".claude/settings.local.json",
  projectSettings: ".claude/settings.json", userSettings: "~/.claude/settings.json",
};
const MODES = { default: "ask before edits", acceptEdits: "accept edits", plan: "plan", bypassPermissions: "ask nothing", dontAsk: "deny what no rule allows" };

function effectOf(update) {
  const rules = (update.rules || []).map((rule) => (rule.ruleContent ? `${rule.toolName}(${rule.ruleContent})` : String(rule.toolName)));
  if (update.type === "setMode") return [`switch to: ${MODES[update.mode] || update.mode}`, update.mode === "bypassPermissions" ? "nothing will be asked any more" : ""];
  if (update.type === "addDirectories") return [`trust ${(update.directories || []).join(", ")}`, ""];
  if (update.type !== "addRules" || update.behavior !== "allow" || !rules.length) return ["", ""];
  const bare = rules.find((rule) => !rule.includes("(") && !rule.startsWith("mcp__"));
  return [rules.join("  "), bare ? `every use of ${bare}, whatever it does` : ""];
}

function grants(card, question, send) {
  const offers = question.no_always || question.does === "other" ? [] : question.suggestions.map(effectOf);
  const box = make("details", "", "", make("summary", "Allow more than once"));
  offers.forEach(([effect, warning], suggestion) => {
    if (!effect || !PLACES[question.suggestions[suggestion].destination]) return;
    const grant = button(card, "Allow and grant", () => send({ behavior: "allow", remember: { suggestion } }));
    const kept = make("span", `kept in ${PLACES[question.suggestions[suggestion].destination]}`, "dim");
    box.append(make("div", "", "grant", grant, exactly("code", effect), kept, ...(warning ? [make("span", warning, "bad")] : [])));
  });
  return box.children.length > 1 ? box : "";
}

let named = 0;

function choiceForm(card, question, send) {
  const choices = question.choices || [];
  const readers = choices.map((choice) => choiceOf(card, choice));
  if (choices.length === 1 && choices[0].question === card.title) card.element.querySelector("legend").className = "unseen";  // it is the heading
  const count = make("span", "", "dim");
  const done = button(card, choices.length === 1 ? "Send answer" : "Send answers", () => send({ behavior: "allow", answers: Object.fromEntries(choices.map((choice, n) => [choice.question, readers[n]()])) }), true);
  const look = () => {
    const answered = readers.filter((reader) => reader()).length;
    done.disabled = answered < readers.length;
    count.textContent = readers.length > 1 ? `${answered} of ${readers.length} answered` : "";
  };
  card.element.addEventListener("input", look);
  look();
  const skip = button(card, "Skip", () => send({ behavior: "deny" }));
  card.deny = skip;
  card.element.append(make("div", "", "acts", skip, make("span", "", "spring"), count, done));
}

function choiceOf(card, choice) {
  const name = `choice-${++named}`;
  const box = make("fieldset", "", "", make("legend", choice.question));
  if (choice.multiple) box.append(make("div", "several may be chosen", "dim"));
  const picks = choice.options.map((option) => {
    const pick = picker(name, choice.multiple);
    const line = make("label", "", "option", pick, make("span", option.label));
    if (option.description) line.append(make("span", option.description, "dim"));
    if (option.preview) line.append(make("pre", option.preview));
    box.append(line);
    return [pick, option.label];
  });
  const other = picker(name, choice.multiple);
  other.setAttribute("aria-label", "Something else");
  const own = field("in your own words");
  own.oninput = () => { other.checked = Boolean(own.value.trim()); };
  other.onclick = () => { if (other.checked) own.focus(); };
  own.onkeydown = (event) => { if (event.key === "Enter" && !card.main.disabled) card.main.click(); };
  box.append(make("div", "", "option", other, make("span", "", "own", make("span", "Something else:"), own)));
  card.element.append(box);
  return () => [...picks.filter(([pick]) => pick.checked).map(([, label]) => label), other.checked ? own.value.trim() : ""].filter(Boolean).join(", ");
}

const picker = (name, several) => {
  const made = make("input");
  made.type = several ? "checkbox" : "radio";
  made.name = name;
  return made;
};

const WAYS = [
  ["fresh", "Fresh start: forget the talk, keep the plan, accept edits"],
  ["keep_edits", "Keep the talk, accept edits"],
  ["keep_ask", "Keep the talk, ask before each edit"],
];

function planForm(card, question, send) {
  const name = `plan-${++named}`;
  const ways = WAYS.filter(([way]) => way !== "fresh" || question.plan?.text).map(([way, words]) => {
    const pick = picker(name, false);
    pick.checked = way === "keep_ask";
    return { way, pick, line: make("label", "", "option", pick, make("span", words)) };
  });
  const start = button(card, "Start work", () => send({ behavior: "allow", plan: ways.find(({ pick }) => pick.checked).way }), true);
  const change = field("What should change?", "reason");
  const revise = button(card, "Keep planning", () => (change.value.trim() ? send({ behavior: "deny", plan: "revise", message: change.value.trim() }) : change.focus()));
  change.onkeydown = (event) => { if (event.key === "Enter") revise.click(); };
  card.deny = revise;
  const stop = button(card, "Keep the plan, stop here", () => send({ behavior: "deny", plan: "stop", interrupt: true }));
  card.element.append(
    make("fieldset", "", "", make("legend", "Go on"), ...ways.map(({ line }) => line)),
    make("div", "", "acts", revise, change, stop, make("span", "", "spring"), start),
  );
}

// A form of an MCP server: its fields. A dialog of another kind is answered in a terminal.
function dialogForm(card, question, send) {
  const asked = question.tool === "elicitation" ? Object.entries(question.input?.properties || {}) : [];
  const readers = asked.map(([name, kind]) => [name, dialogField(card, name, kind || {})]);
  const answer = () => Object.fromEntries(readers.map(([name, read]) => [name, read()]).filter(([, value]) => value !== undefined));
  const acts = make("div", "", "acts", ...denying(card, send, "Decline", "Why not?"), make("span", "", "spring"));
  if (asked.length) acts.append(button(card, "Send", () => send({ behavior: "allow", updated_input: answer() }), true));
  else card.element.append(make("p", `Answer it in a terminal: ropewalk answer ${question.id}`, "dim"));
  card.element.append(acts);
}

function dialogField(card, name, kind) {
  const yes = kind.type === "boolean";
  const entry = field(name);
  if (yes) { entry.type = "checkbox"; entry.checked = kind.default === true; }
  else if (kind.default !== undefined) entry.value = String(kind.default);
  const label = make("label", "", yes ? "option" : "", ...(yes ? [entry] : []), make("span", kind.title || name));
  const hint = [kind.description, (kind.enum || []).join(", ")].filter(Boolean).join(" · ");
  if (hint) label.append(make("span", ` ${hint}`, "dim"));
  card.element.append(label, ...(yes ? [] : [entry]));
  return () => {
    if (yes) return entry.checked;
    if (entry.value === "") return undefined;
    return ["number", "integer"].includes(kind.type) && !Number.isNaN(Number(entry.value)) ? Number(entry.value) : entry.value;
  };
}

// -- what would happen: whole, never behind a fold; the buttons stand below it

function bodyOf(question) {
  const input = question.input || {};
  if (question.asks === "plan") return planBody(question.plan || {});
  if (question.asks === "choice" && question.choices?.length) return [];
  if (question.asks === "dialog") return Object.keys(input.properties || {}).length ? [] : [make("pre", JSON.stringify(input, null, 2))];
  const tags = make("div", "", "tags", ...tagsOf(question, input).map((tag) => make("span", tag)));
  const body = BODIES[question.tool]?.(input) ?? fields(input);
  return [...body, ...partsOf(question), ...(tags.children.length ? [tags] : [])];
}

const rest = (input, ...known) => fields(Object.fromEntries(Object.entries(input).filter(([key, value]) => !known.includes(key) && value !== false)));
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function fields(input) {
  const entries = Object.entries(input);
  return entries.length ? [make("dl", "", "", ...entries.flatMap(([key, value]) => [make("dt", key), exactly("dd", text(value))]))] : [];
}

const BODIES = {
  Bash: (input) => [
    exactly("pre", text(input.command ?? "")),
    ...rest(input, "command", "description", "run_in_background", ...(input.timeout > LONG_COMMAND ? ["timeout"] : [])),
  ],
  Edit: (input) => change(input, [input]),
  MultiEdit: (input) => change(input, Array.isArray(input.edits) ? input.edits : []),
  Write: (input) => [path(input.file_path), difference("", text(input.content ?? "")), ...rest(input, "file_path", "content")],
  NotebookEdit: (input) => [path(input.notebook_path), difference("", text(input.new_source ?? "")), ...rest(input, "notebook_path", "new_source")],
  WebFetch: (input) => [exactly("pre", text(input.url ?? "")), ...rest(input, "url")],
};
const path = (where) => exactly("div", text(where ?? ""), "mono");

function change(input, edits) {
  if (!edits.length || edits.some((edit) => typeof edit?.old_string !== "string" || typeof edit?.new_string !== "string")) return fields(input);
  const shown = edits.flatMap((edit) => [
    ...(edit.replace_all ? [make("div", "everywhere in the file", "bad")] : []), difference(edit.old_string, edit.new_string),
  ]);
  return [path(input.file_path), ...shown, ...rest(input, "file_path", "old_string", "new_string", "replace_all", "edits")];
}

function difference(before, after) {
  const lines = (whole) => (whole === "" ? [] : whole.replace(/\n$/, "").split("\n"));
  const box = make("div", "", "diff");
  const signs = { "+": ["add", "added: "], "-": ["del", "removed: "], " ": ["", ""] };
  for (const [sign, line] of compared(lines(before), lines(after))) {
    const row = make("div", "", signs[sign][0]);
    if (signs[sign][1]) row.append(make("span", signs[sign][1], "unseen"));
    row.append(`${sign} `);
    box.append(fill(row, line, true));
  }
  if (before && after && before.endsWith("\n") !== after.endsWith("\n")) box.append(make("div", after.endsWith("\n") ? "a newline at the end" : "no newline at the end", "gap"));
  if (!box.children.length) box.append(make("div", "nothing: it would be empty", "gap"));
  return box;
}

// Longest common lines between what both begin and end with; where that would take long, old against new.
function compared(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const same = (lines) => lines.map((line) => [" ", line]);
  const [c, d] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  return [...same(a.slice(0, head)), ...between(c, d), ...same(a.slice(a.length - tail))];
}

function between(a, b) {
  if (a.length * b.length > 250000) return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { found.push([" ", a[i]]); i++; j++; }
    else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) found.push(["-", a[i++]]);
    else found.push(["+", b[j++]]);
  }
  return found;
}

// A plan as a document: every letter of it stays, headings, points and code get their look.
function planBody(plan) {
  if (!plan.text) return [make("p", "Claude gave no plan text.")];
  const box = make("div", "", "plan");
  let code = false;
  for (const line of plan.text.trimEnd().split("\n")) {
    if (/^\s*```/.test(line)) { code = !code; box.append(fill(make("div", "", "code"), line)); continue; }
    const heading = !code && /^#{1,6}\s+(.*)$/.exec(line);
    const kind = code ? "code" : heading ? "heading" : /^\s*([-*+]|\d+[.)])\s/.test(line) ? "point" : "";
    box.append(inline(make("div", "", kind), heading ? heading[1] : line || "\u00a0", code));
  }
  const wishes = (plan.requested || []).map((wish) => `${wish.tool}: ${wish.prompt}`);
  return [box, ...(wishes.length ? [make("p", `It asks to be allowed (going on grants none of it): ${wishes.join(" · ")}`, "dim")] : [])];
}

function inline(element, line, plain) {
  for (const piece of plain ? [line] : line.split(/(`[^`]+`|\*\*[^*]+\*\*)/)) {
    if (/^`[^`]+`$/.test(piece)) element.append(exactly("code", piece.slice(1, -1)));
    else if (/^\*\*[^*]+\*\*$/.test(piece)) element.append(make("strong", piece.slice(2, -2)));
    else fill(element, piece);
  }
  return element;
}

function partsOf(question) {
  if (!question.parts.length) return [];
  const line = (part) => make("tr", "", "", exactly("td", part.text, "mono"), make("td", [part.verdict, part.because, ...(part.tags || [])].filter(Boolean).join(" · "), "dim"));
  return [make("table", "", "parts", ...question.parts.map(line))];
}

// By their words alone: a hint for the eye, no promise that a command without one is harmless.
const HINTS = [
  [/\b(rm|rmdir|shred|unlink|truncate|mkfs\S*|dd)\b|-delete\b|\bgit\s+clean\b/, "deletes"],
  [/\b(sudo|doas|su|pkexec)\b/, "as root"],
  [/\b(curl|wget|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp)\b|\bgit\s+(push|pull|fetch|clone)\b/, "network"],
  [/\bgit\s+(rebase|reset|filter-branch|filter-repo)\b|\bgit\s+commit\b.*--amend|\bgit\s+push\b.*(--force|\s-f\b)/, "changes git history"],
  [/\b(npm|pnpm|yarn|pip3?|uv|apt|apt-get|dnf|brew|cargo|gem|go)\b[^|;&]*\b(install|add|i|ci)\b/, "installs"],
  [/\.env\b|\.ssh\b|\bid_(rsa|ed25519)\b|\.aws\b|\.netrc\b|\bcredentials?\b|\bsecrets?\b|\.pem\b/, "reads a secret"],
  [/\|\s*(sudo\s+)?(ba|z|da|k)?sh\b|\beval\b|\b(ba|z|da)?sh\s+-c\b/, "feeds a shell"],
];

const outside = (where, folder) => Boolean(where?.startsWith("/") && folder && !`${where}/`.startsWith(`${folder.replace(/\/$/, "")}/`));

function tagsOf(question, input) {
  const found = [...question.tags];
  const command = question.tool === "Bash" ? text(input.command ?? "") : "";
  for (const [pattern, words] of HINTS) if (pattern.test(command)) found.push(words);
  if (input.run_in_background) found.push("runs in background");
  if (input.timeout > LONG_COMMAND) found.push(`may take up to ${Math.round(input.timeout / 60000)} min`);
  if (/^http:/i.test(input.url ?? "")) found.push("plain http");
  if (outside(question.blocked_path, question.cwd)) found.push("outside the folder");
  if (Object.values(input).some((value) => hides(text(value) ?? ""))) found.push("hidden characters");
  return [...new Set(found)];
}

// -- keys: inside a card only while the focus is in it, and not while somebody types

const typing = (element) => element?.matches?.("input[type=text], input:not([type])");

document.addEventListener("keydown", (event) => {
  const last = typed;
  typed = Date.now();
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const open = [...cards.values()].filter((card) => !card.closing);
  const here = open.findIndex((card) => card.element.contains(document.activeElement));
  if (event.key === "j" || event.key === "k") {
    open[Math.min(open.length - 1, Math.max(0, here < 0 ? 0 : here + (event.key === "j" ? 1 : -1)))]?.element.querySelector("h3").focus();
  } else if (event.key === "Escape") document.activeElement?.blur();
  else if (here >= 0 && ["a", "d"].includes(event.key) && Date.now() - Math.max(open[here].born, last) > TYPED) {
    (event.key === "a" ? open[here].main : open[here].deny)?.click();
  }
});

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
      cwd: by("folder").value, prompt: "Tidy up this folder", options: { sim: true }, client_id: newId(),
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
    const who = await ask("GET", "/me");
    if (who.name !== me) { for (const card of cards.values()) card.element.remove(); cards.clear(); }  // another may answer other things
    me = who.name;
    by("me").textContent = `${me} · ${who.roles.includes("admin") ? "admin" : who.roles.join(", ")}`;
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
