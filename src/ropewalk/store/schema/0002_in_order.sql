-- Events and lines lie in the order in which they came, over all sessions, and are found by an index of their keys. A commit
-- of six lines from six sessions then writes one page of each table and six of each index, where it had to open, split and
-- write the pages of six sessions: half of the log, half of the work.
--
-- That a line was heard is known by the line itself. Only of lines that left events and are not kept (pieces of a block under
-- way, lines that were too long) the events must say so: unkept. They alone need the index that all events had.

DROP VIEW event_log;
DROP VIEW line_log;

CREATE TABLE event_in_order (
    id INTEGER NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at REAL NOT NULL,
    process INTEGER,
    line_no INTEGER,
    part INTEGER,
    crc INTEGER NOT NULL,
    body BLOB NOT NULL,
    unkept INTEGER
) STRICT;
INSERT INTO event_in_order
    SELECT id, epoch, kind, at, process, line_no, part, crc, body,
           CASE WHEN line_no IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM line WHERE line.id = (event.process << 27 | event.line_no) << 14) THEN 1 END
    FROM event ORDER BY id;
DROP TABLE event;
ALTER TABLE event_in_order RENAME TO event;
CREATE UNIQUE INDEX event_unkept ON event (process, line_no, part) WHERE unkept IS NOT NULL;

CREATE TABLE line_in_order (
    id INTEGER NOT NULL UNIQUE,
    n INTEGER NOT NULL,
    at REAL NOT NULL,
    crc INTEGER NOT NULL,
    raw BLOB NOT NULL
) STRICT;
INSERT INTO line_in_order SELECT id, n, at, crc, raw FROM line ORDER BY id;
DROP TABLE line;
ALTER TABLE line_in_order RENAME TO line;

CREATE VIEW event_log AS
    SELECT session.id AS session, event.id & 4294967295 AS seq, event.epoch, event.kind, event.at, event.body,
           process.id AS process, event.line_no, event.part
    FROM event JOIN session ON session.no = event.id >> 32 LEFT JOIN process ON process.no = event.process;
CREATE VIEW line_log AS
    SELECT process.session, process.id AS process, CASE line.id & 16383 WHEN 0 THEN 'out' ELSE 'in' END AS dir,
           line.n, line.at, line.raw, line.id AS cursor
    FROM line JOIN process ON process.no = line.id >> 41;
