// Where the page is: the address is the truth, Back and a pasted link work. Refuses to keep what is not in it.
export type Screen = "inbox" | "sessions" | "session" | "new" | "more";

class Route {
  screen = $state<Screen>("sessions");
  session = $state("");
  question = $state("");

  read(): void {
    const [, first = "", second = ""] = location.pathname.split("/");
    this.session = first === "s" ? decodeURIComponent(second) : "";
    this.screen = this.session ? "session" : first === "inbox" || first === "new" || first === "more" ? first : "sessions";
    this.question = location.hash.startsWith("#q") ? location.hash.slice(2) : "";
  }
}

export const route = new Route();

export function go(path: string): void {
  if (location.pathname + location.hash !== path) history.pushState(null, "", path);
  route.read();
}

/** A plain press on a link of ours stays on the page; one with a modifier is the browser's. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element).closest("a");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
  event.preventDefault();
  go(link.pathname + link.hash);
}

addEventListener("popstate", () => route.read());
