// Letters that change what others look like, or can't be seen, are shown as what they are. Refuses to drop one.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f]|(?! )\p{Zs}/gu;
const HARMLESS = /[\u200d\ufe0f]/; // these two join and colour emoji

export type Piece = { odd: boolean; text: string };

export function piecesOf(text: string, exact: boolean): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const letter = found[0];
    if (letter === "\n" || letter === "\t" || (!exact && (HARMLESS.test(letter) || /\p{Zs}/u.test(letter)))) continue;
    if (found.index > from) pieces.push({ odd: false, text: text.slice(from, found.index) });
    pieces.push({ odd: true, text: `⟨U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩` });
    from = found.index + letter.length;
  }
  if (from < text.length) pieces.push({ odd: false, text: text.slice(from) });
  return pieces;
}

/** Terminal colours say nothing here: their sequences are left out, what else can't be seen stays visible as a token. */
export const plain = (text: string): string => text.replace(/\u001b\[[0-9;:]*m/g, "");
