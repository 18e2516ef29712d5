// What an edit would change, line by line, against the file as it stands. Refuses to leave a changed line out.
export interface Line {
  sign: " " | "+" | "-";
  text: string;
  a: number | null;
  b: number | null;
}
export type Hunk = Line[] | { skipped: number; lines: Line[] };

export function compared(before: string, after: string, first = 1): Line[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const signed: [Line["sign"], string][] = [
    ...a.slice(0, head).map((line): [Line["sign"], string] => [" ", line]),
    ...between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map((line): [Line["sign"], string] => [" ", line]),
  ];
  let [i, j] = [first, first];
  return signed.map(([sign, text]) => ({ sign, text, a: sign === "+" ? null : i++, b: sign === "-" ? null : j++ }));
}

const linesOf = (whole: string): string[] => (whole === "" ? [] : whole.replace(/\n$/, "").split("\n"));

/** The longest common lines; where looking for them would take long, old against new. */
function between(a: string[], b: string[]): [Line["sign"], string][] {
  if (a.length * b.length > 1_000_000) return [...a.map((line): [Line["sign"], string] => ["-", line]), ...b.map((line): [Line["sign"], string] => ["+", line])];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const found: [Line["sign"], string][] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { found.push([" ", a[i++]!]); j++; }
    else if (j >= b.length || (i < a.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) found.push(["-", a[i++]!]);
    else found.push(["+", b[j++]!]);
  }
  return found;
}

/** Three lines around each change; what lies between is named and can be opened. */
export function hunksOf(lines: Line[], around = 3): Hunk[] {
  const near = new Set<number>();
  lines.forEach((line, n) => {
    if (line.sign !== " ") for (let k = n - around; k <= n + around; k++) near.add(k);
  });
  const hunks: Hunk[] = [];
  let part: Line[] = [];
  let skipped: Line[] = [];
  const close = (): void => {
    if (part.length) hunks.push(part);
    if (skipped.length) hunks.push({ skipped: skipped.length, lines: skipped });
    [part, skipped] = [[], []];
  };
  lines.forEach((line, n) => {
    const wanted = near.has(n);
    if (wanted !== part.length > 0 && (part.length || skipped.length)) close();
    (wanted ? part : skipped).push(line);
  });
  close();
  return hunks;
}

/** What the file would be after the edits of a question; null: the text to replace is not there. */
export function edited(before: string, edits: { old_string: string; new_string: string; replace_all?: boolean }[]): string | null {
  let text = before;
  for (const edit of edits) {
    if (!edit.old_string) {
      text = edit.new_string + text;
      continue;
    }
    const place = text.indexOf(edit.old_string);
    if (place < 0) return null;
    text = edit.replace_all ? text.split(edit.old_string).join(edit.new_string) : text.slice(0, place) + edit.new_string + text.slice(place + edit.old_string.length);
  }
  return text;
}
