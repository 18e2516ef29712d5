// One request to the hub's API. Refuses to hide a refusal: every one is a Problem with the hub's own sentence.
export class Problem extends Error {
  constructor(readonly status: number, words: string, readonly code = "", readonly by = "") {
    super(words);
  }
}

export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`/api/v1${path}`, {
    method,
    cache: "no-store",
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, found.detail ?? `The hub said ${answer.status}.`, found.code, found.by ?? "");
  return found as T;
}

export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
