// What stands in the transcript: blocks, and runs of reading folded into one row. Refuses to fold what failed or still runs.
import type { Block, ToolBlock } from "./log";

export type Row = { key: string; block: Block } | { key: string; fold: ToolBlock[] };
const QUIET = new Set(["read", "search", "fetch"]);
const HIDDEN = new Set(["todo", "ask", "plan"]);

export function rowsOf(keys: readonly string[], get: (key: string) => Block | undefined): Row[] {
  const rows: Row[] = [];
  let run: ToolBlock[] = [];
  const close = (): void => {
    const [first] = run;
    if (run.length > 1 && first) rows.push({ key: `fold:${first.key}`, fold: run });
    else if (first) rows.push({ key: first.key, block: first });
    run = [];
  };
  for (const key of keys) {
    const block = get(key);
    if (!block) continue;
    if (block.kind === "tool" && QUIET.has(block.does) && block.state === "done") {
      run.push(block);
      continue;
    }
    if (block.kind === "tool" && HIDDEN.has(block.does) && block.state !== "failed") continue;
    if (block.kind === "thinking" && !block.open && !block.text && !block.redacted) continue;
    close();
    rows.push({ key, block });
  }
  for (const block of run) rows.push({ key: block.key, block });  // the run may still go on: it folds behind the next other block
  return rows;
}
