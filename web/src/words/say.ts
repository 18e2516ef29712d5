// Every text of the page comes through here: a key, its parameters, and the plural form that their count asks for.
import { en } from "./en";

export type Key = keyof typeof en;
const plural = new Intl.PluralRules("en");
let pseudo = false;

/** A language that nobody speaks, two fifths longer: what is not in the catalogue stands out. */
export function speakPseudo(on: boolean): void {
  pseudo = on;
}

export function say(key: Key, given: Record<string, string | number> = {}): string {
  const found = en[key] as string | { one: string; other: string };
  const form = typeof found === "string" ? found : plural.select(Number(given.n ?? 0)) === "one" ? found.one : found.other;
  const words = form.replace(/\{(\w+)\}/g, (_, name: string) => String(given[name] ?? ""));
  return pseudo ? strange(words) : words;
}

const LETTERS: Record<string, string> = { a: "å", e: "é", i: "ï", o: "ø", u: "ü", A: "Å", E: "É", O: "Ø", n: "ñ", c: "ç" };
const strange = (words: string): string => `[${[...words].map((letter) => LETTERS[letter] ?? letter).join("")}${"·".repeat(Math.ceil(words.length * 0.4))}]`;

const second = 1, minute = 60, hour = 3600, day = 86400;

/** How long, in the one unit that matters. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds / second));
  if (whole < minute) return say("seconds", { n: whole });
  if (whole < hour) return say("minutes", { n: Math.floor(whole / minute) });
  if (whole < 2 * day) return say("hours", { n: Math.floor(whole / hour) });
  return say("days", { n: Math.floor(whole / day) });
}

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const date = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
export const clockTime = (at: number): string => time.format(at * 1000);
export const dayOf = (at: number): string => date.format(at * 1000);

export function money(dollars: number): string {
  if (!dollars) return "$0";
  return dollars < 0.01 ? "<$0.01" : `$${dollars.toFixed(2)}`;
}
