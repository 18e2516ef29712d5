-- Rules end and say where they come from; verdicts say what they were given on, and stay: nobody changes or removes one.
-- Tool calls that nobody asked us about are in the log alone: the audit finds them there, newest first.

ALTER TABLE verdict ADD COLUMN tool_use TEXT;
ALTER TABLE verdict ADD COLUMN cwd TEXT NOT NULL DEFAULT '';
ALTER TABLE verdict ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';
ALTER TABLE verdict ADD COLUMN parts BLOB NOT NULL DEFAULT x'5b5d';
ALTER TABLE verdict ADD COLUMN context BLOB NOT NULL DEFAULT x'7b7d';
ALTER TABLE verdict ADD COLUMN hash TEXT NOT NULL DEFAULT '';
ALTER TABLE verdict ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE verdict ADD COLUMN turn INTEGER;
CREATE INDEX verdict_tool_use ON verdict (tool_use) WHERE tool_use IS NOT NULL;
CREATE TRIGGER verdict_is_not_changed BEFORE UPDATE ON verdict BEGIN SELECT RAISE(ABORT, 'a verdict is never changed'); END;
CREATE TRIGGER verdict_is_not_removed BEFORE DELETE ON verdict BEGIN SELECT RAISE(ABORT, 'a verdict is never removed'); END;

ALTER TABLE rule ADD COLUMN text TEXT NOT NULL DEFAULT '';
ALTER TABLE rule ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE rule ADD COLUMN door TEXT NOT NULL DEFAULT '';
ALTER TABLE rule ADD COLUMN question TEXT;
ALTER TABLE rule ADD COLUMN session TEXT;
ALTER TABLE rule ADD COLUMN turn INTEGER;
ALTER TABLE rule ADD COLUMN ended_at REAL;
ALTER TABLE rule ADD COLUMN ended_why TEXT NOT NULL DEFAULT '';
ALTER TABLE rule ADD COLUMN ended_by TEXT NOT NULL DEFAULT '';
UPDATE rule SET text = CASE pattern WHEN '' THEN tool ELSE tool || '(' || pattern || ')' END WHERE text = '';

CREATE INDEX event_tools ON event (at) WHERE kind = 'tool_finished';
