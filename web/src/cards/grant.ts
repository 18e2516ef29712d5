// What may be granted with an allow, in words and as the hub takes it. Refuses to widen what was shown.
import type { Offer, QuestionView, Remember, Step } from "../api/types";
import { type Key, say } from "../words/say";

export type Scope = "once" | "session" | "always";
export interface Chosen {
  scope: Scope;
  place: "folder" | "everywhere";
  step: number;
  seconds: number;
  suggestion: number | null;
}
export const ONCE: Chosen = { scope: "once", place: "folder", step: 0, seconds: 0, suggestion: null };
export const SPANS = [0, 900, 3600];

export function offerFor(question: QuestionView, chosen: Chosen): Offer | undefined {
  const wanted = chosen.scope === "session" ? "session" : chosen.place;
  return question.offers.find((offer) => offer.scope === wanted);
}

export function stepFor(question: QuestionView, chosen: Chosen): Step | undefined {
  const steps = offerFor(question, chosen)?.steps ?? [];
  return steps[Math.min(chosen.step, steps.length - 1)];
}

export function rememberFor(question: QuestionView, chosen: Chosen): Remember | null {
  if (chosen.suggestion !== null) return { suggestion: chosen.suggestion };
  const [offer, step] = [offerFor(question, chosen), stepFor(question, chosen)];
  if (chosen.scope === "once" || !offer || !step) return null;
  return { rules: [...step.rules], scope: offer.scope, ...(chosen.seconds ? { for_seconds: chosen.seconds } : {}) };
}

const PLACES: Record<string, string> = {
  session: "this session", cliArg: "this process", localSettings: ".claude/settings.local.json", projectSettings: ".claude/settings.json",
  userSettings: "~/.claude/settings.json",
};

export interface Suggested {
  index: number;
  effect: string;
  warning: string;
  place: string;
  keeps: boolean;
}

/** The CLI's own offers by their effect; what we can't put in words is not offered. */
export function suggestionsOf(question: QuestionView): Suggested[] {
  if (question.no_always || question.does === "other") return [];
  return question.suggestions.flatMap((update, index) => {
    const place = PLACES[String(update.destination)];
    const [effect, warning] = effectOf(update);
    return effect && place ? [{ index, effect, warning, place, keeps: String(update.destination).endsWith("Settings") }] : [];
  });
}

function effectOf(update: Record<string, unknown>): [string, string] {
  if (update.type === "setMode") {
    return [say("switch_mode", { mode: modeWords(String(update.mode)) }), update.mode === "bypassPermissions" ? say("bypass_warning") : ""];
  }
  if (update.type === "addDirectories") return [say("trust", { folders: ((update.directories as string[] | undefined) ?? []).join(", ") }), ""];
  const given = (update.rules ?? []) as { toolName: string; ruleContent?: string }[];
  if (update.type !== "addRules" || update.behavior !== "allow" || !given.length) return ["", ""];
  const rules = given.map((rule) => (rule.ruleContent ? `${rule.toolName}(${rule.ruleContent})` : String(rule.toolName)));
  const bare = given.find((rule) => !rule.ruleContent && !(rule.toolName.startsWith("mcp__") && rule.toolName.split("__").length > 2));
  return [rules.join("  "), bare ? say("whole_tool", { tool: bare.toolName }) : ""];
}

export const modeWords = (mode: string): string => (`mode_${mode}` in KEYS ? say(`mode_${mode}` as Key) : mode);
const KEYS: Record<string, true> = {
  mode_default: true, mode_plan: true, mode_acceptEdits: true, mode_dontAsk: true, mode_auto: true, mode_bypassPermissions: true,
};
