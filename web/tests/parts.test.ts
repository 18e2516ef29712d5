// Differences, letters, words, grants.
import { expect, test } from "vitest";
import type { QuestionView } from "../src/api/types";
import { ONCE, rememberFor } from "../src/cards/grant";
import { compared, edited, hunksOf } from "../src/parts/difference";
import { piecesOf } from "../src/parts/letters";
import { say, span, speakPseudo } from "../src/words/say";

test("a difference keeps every line of both sides, in order", () => {
  const [before, after] = ["a\nb\nc\nd\n", "a\nx\nc\ny\nd\n"];
  const lines = compared(before, after);
  expect(lines.filter((line) => line.sign !== "+").map((line) => line.text).join("\n") + "\n").toBe(before);
  expect(lines.filter((line) => line.sign !== "-").map((line) => line.text).join("\n") + "\n").toBe(after);
  expect(lines.find((line) => line.sign === "-")).toMatchObject({ text: "b", a: 2 });
});

test("far away from a change lines are folded, and counted", () => {
  const before = Array.from({ length: 100 }, (_, n) => `line ${n}`).join("\n");
  const hunks = hunksOf(compared(before, before.replace("line 50", "LINE 50")));
  expect(hunks.map((hunk) => (Array.isArray(hunk) ? hunk.length : -hunk.skipped))).toEqual([-47, 8, -46]);
});

test("an edit whose text is not in the file is not shown as one", () => {
  expect(edited("abc", [{ old_string: "x", new_string: "y" }])).toBeNull();
  expect(edited("aba", [{ old_string: "a", new_string: "x", replace_all: true }])).toBe("xbx");
});

test("letters that can't be seen are tokens", () => {
  expect(piecesOf("a\u202eb\u200bc\r\n", true).filter((piece) => piece.odd).map((piece) => piece.text)).toEqual(["⟨U+202E⟩", "⟨U+200B⟩", "⟨U+000D⟩"]);
});

test("counts have their plural, and a language that nobody speaks is longer", () => {
  expect([say("files_changed", { n: 1 }), say("files_changed", { n: 2 }), span(61), span(7200)]).toEqual(["1 file", "2 files", "1 min", "2 h"]);
  speakPseudo(true);
  expect(say("needs_you").length).toBeGreaterThan("Needs you".length * 1.3);
  speakPseudo(false);
});

test("a grant is the step that was shown, word for word; once grants nothing", () => {
  const question = { offers: [{ scope: "session", steps: [{ rules: ["Bash(a)"] }, { rules: ["Bash(a:*)", "Edit(b)"] }] }] } as unknown as QuestionView;
  expect(rememberFor(question, ONCE)).toBeNull();
  expect(rememberFor(question, { ...ONCE, scope: "session", step: 1, seconds: 900 })).toEqual({ rules: ["Bash(a:*)", "Edit(b)"], scope: "session", for_seconds: 900 });
});
