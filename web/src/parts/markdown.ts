// Markdown of the CLI, made harmless: no script, no picture from elsewhere, no link but to the web. Refuses to be handed HTML as text.
import DOMPurify from "dompurify";
import { Marked } from "marked";

const marked = new Marked({ gfm: true, breaks: false, async: false });
const SETTINGS = {
  ALLOWED_TAGS: ["p", "br", "strong", "em", "del", "code", "pre", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "table", "thead", "tbody", "tr", "th", "td", "a", "span"],
  ALLOWED_ATTR: ["href", "title", "start", "align"],
  ALLOWED_URI_REGEXP: /^https?:/i,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

/** Raw HTML is shown as the letters that it is; a picture as a link that a person may press. */
marked.use({
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
});

const escaped = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

export function fragmentOf(text: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(marked.parse(text) as string, SETTINGS) as unknown as DocumentFragment;
  for (const link of fragment.querySelectorAll("a")) {
    link.rel = "noopener noreferrer";
    link.target = "_blank";
  }
  return fragment;
}

/** Puts it in, and again when it changes. */
export function markdown(element: HTMLElement, text: string): { update(text: string): void } {
  const show = (words: string): void => {
    element.replaceChildren(fragmentOf(words));
    for (const block of element.querySelectorAll("pre")) block.tabIndex = 0;
  };
  show(text);
  return { update: show };
}
