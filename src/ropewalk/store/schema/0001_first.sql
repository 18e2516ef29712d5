-- Numbers that are keys:
--   event.id = session.no << 32 | seq                 the log of a session lies together, in order, with no index beside it
--   line.id  = process.no << 41 | out << 14 | since   out: number of the CLI's line; since: 0 for that line itself,
--                                                     1, 2, … for what we wrote to it after that line
-- For eyes and outside checkers: the views event_log and line_log.

CREATE TABLE session (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '[]',
    archived INTEGER NOT NULL DEFAULT 0,
    cli_session TEXT,
    cwd TEXT NOT NULL DEFAULT '',
    runner TEXT NOT NULL DEFAULT '',
    owner TEXT NOT NULL DEFAULT '',
    epoch INTEGER NOT NULL DEFAULT 1,
    status TEXT NOT NULL DEFAULT 'asleep',
    why TEXT NOT NULL DEFAULT '',
    status_at REAL NOT NULL DEFAULT 0,
    mode TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    cost_usd REAL,
    context_tokens INTEGER,
    context_window INTEGER,
    options BLOB NOT NULL DEFAULT x'7b7d',
    sim INTEGER NOT NULL DEFAULT 0,
    parent TEXT,
    process TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    last_prompt TEXT NOT NULL DEFAULT '',
    added INTEGER NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL DEFAULT 0,
    changed_at REAL NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX session_changed ON session (changed_at, no);
CREATE INDEX session_cli ON session (cli_session) WHERE cli_session IS NOT NULL;

-- Of each session (by its no) the last seq given, and up to where search knows it. Row 0 counts the commits: what tells
-- whether a commit that failed with an error is in the file all the same. Beside the session because it changes with every event.
CREATE TABLE counter (
    no INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL DEFAULT 0,
    indexed INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO counter (no) VALUES (0);

CREATE VIEW session_now AS SELECT session.*, coalesce(counter.seq, 0) AS last_seq FROM session LEFT JOIN counter USING (no);

CREATE TABLE process (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    runner TEXT NOT NULL DEFAULT '',
    pid INTEGER,
    start_time TEXT,
    boot_id TEXT,
    argv TEXT NOT NULL DEFAULT '[]',
    version TEXT NOT NULL DEFAULT '',
    started_at REAL NOT NULL DEFAULT 0,
    ended_at REAL,
    exit_code INTEGER,
    why TEXT NOT NULL DEFAULT '',
    acked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX process_session ON process (session);
CREATE INDEX process_alive ON process (id) WHERE ended_at IS NULL;

-- crc is zlib.crc32(body, id & 0xffffffff): SQLite itself would not notice a flipped bit in here.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at REAL NOT NULL,
    process INTEGER,
    line_no INTEGER,
    part INTEGER,
    crc INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_line ON event (process, line_no, part) WHERE line_no IS NOT NULL;

CREATE TABLE line (
    id INTEGER PRIMARY KEY,
    n INTEGER NOT NULL,
    at REAL NOT NULL,
    crc INTEGER NOT NULL,
    raw BLOB NOT NULL
) STRICT;

CREATE VIEW event_log AS
    SELECT session.id AS session, event.id & 4294967295 AS seq, event.epoch, event.kind, event.at, event.body,
           process.id AS process, event.line_no, event.part
    FROM event JOIN session ON session.no = event.id >> 32 LEFT JOIN process ON process.no = event.process;
CREATE VIEW line_log AS
    SELECT process.session, process.id AS process, CASE line.id & 16383 WHEN 0 THEN 'out' ELSE 'in' END AS dir,
           line.n, line.at, line.raw, line.id AS cursor
    FROM line JOIN process ON process.no = line.id >> 41;

CREATE TABLE prompt (
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    position REAL NOT NULL,
    content BLOB NOT NULL,
    text TEXT NOT NULL,
    when_ TEXT NOT NULL,
    state TEXT NOT NULL,
    by TEXT NOT NULL,
    door TEXT NOT NULL,
    client_id TEXT,
    process TEXT,
    queued_at REAL NOT NULL,
    sent_at REAL,
    taken_at REAL,
    done_at REAL,
    turn INTEGER,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX prompt_session ON prompt (session, position);
CREATE INDEX prompt_underway ON prompt (session) WHERE state IN ('queued', 'sent', 'taken');

CREATE TABLE question (
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    process TEXT NOT NULL,
    request_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    input BLOB NOT NULL,
    asked BLOB NOT NULL,
    state TEXT NOT NULL,
    opened_at REAL NOT NULL,
    closed_at REAL,
    by TEXT NOT NULL,
    door TEXT NOT NULL,
    verdict BLOB,
    delivered_at REAL,
    UNIQUE (process, request_id)
) STRICT;
CREATE INDEX question_state ON question (state, opened_at);
CREATE INDEX question_session ON question (session);

CREATE TABLE verdict (
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    question TEXT,
    tool TEXT NOT NULL,
    what TEXT NOT NULL,
    behavior TEXT NOT NULL,
    because_kind TEXT NOT NULL,
    because_id TEXT NOT NULL,
    because TEXT NOT NULL,
    by TEXT NOT NULL,
    door TEXT NOT NULL,
    input BLOB NOT NULL,
    ran BLOB,
    at REAL NOT NULL
) STRICT;
CREATE INDEX verdict_session ON verdict (session, at);
CREATE INDEX verdict_at ON verdict (at);

CREATE TABLE command (
    principal TEXT NOT NULL,
    client_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    session TEXT,
    body_hash TEXT NOT NULL,
    state TEXT NOT NULL,
    reply BLOB,
    at REAL NOT NULL,
    UNIQUE (principal, client_id)
) STRICT;
CREATE INDEX command_at ON command (at);
CREATE INDEX command_accepted ON command (at) WHERE state = 'accepted';

CREATE TABLE turn (
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    model TEXT NOT NULL,
    process TEXT,
    folder TEXT NOT NULL,
    at REAL NOT NULL,
    seconds REAL,
    cost_usd REAL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    prompts TEXT NOT NULL,
    failed INTEGER NOT NULL,
    UNIQUE (session, seq, model)
) STRICT;
CREATE INDEX turn_at ON turn (at);

CREATE TABLE rule (
    id TEXT NOT NULL UNIQUE,
    behavior TEXT NOT NULL,
    tool TEXT NOT NULL,
    pattern TEXT NOT NULL,
    scope TEXT NOT NULL,
    place TEXT NOT NULL,
    by TEXT NOT NULL,
    because TEXT NOT NULL,
    created_at REAL NOT NULL,
    ends_at REAL,
    uses_left INTEGER,
    hits INTEGER NOT NULL,
    hit_at REAL
) STRICT;

CREATE TABLE token (
    id TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    roles TEXT NOT NULL,
    session TEXT,
    device TEXT,
    uses_left INTEGER,
    created_at REAL NOT NULL,
    seen_at REAL,
    expires_at REAL,
    revoked_at REAL
) STRICT;

CREATE TABLE device (
    id TEXT NOT NULL UNIQUE,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    push BLOB,
    created_at REAL NOT NULL,
    seen_at REAL,
    removed_at REAL
) STRICT;

CREATE TABLE runner (
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    address TEXT NOT NULL,
    version TEXT NOT NULL,
    state TEXT NOT NULL,
    said BLOB NOT NULL,
    pid INTEGER,
    start_time TEXT,
    boot_id TEXT,
    drained INTEGER NOT NULL,
    created_at REAL NOT NULL,
    seen_at REAL
) STRICT;

CREATE TABLE attachment (
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    path TEXT NOT NULL,
    by TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
CREATE INDEX attachment_session ON attachment (session);

CREATE TABLE seen (
    person TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at REAL NOT NULL,
    muted_until REAL,
    UNIQUE (person, session)
) STRICT;

CREATE TABLE setting (
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    at REAL NOT NULL,
    UNIQUE (person, name)
) STRICT;

-- Contentless: rowid = event.id, and the text itself is read from the event again.
CREATE VIRTUAL TABLE event_text USING fts5 (
    text, tool, path, content = '', columnsize = 0, tokenize = "unicode61 remove_diacritics 2"
);
