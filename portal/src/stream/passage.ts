// Text that has settled is cut into blocks of about this size, which are drawn once and never again.
const blockChars = 1_000;

/** A growing text: blocks that no longer change, and the end that does. */
export interface Passage {
  readonly blocks: readonly string[];
  readonly tail: string;
}

export const emptyPassage: Passage = { blocks: [], tail: "" };

/** The passage with more text. Blocks end after a line break or a space where there is one, and no character is lost. */
export function extend(p: Passage, more: string): Passage {
  let tail = p.tail + more;
  if (tail.length < 2 * blockChars) return { blocks: p.blocks, tail };
  const blocks = [...p.blocks];
  while (tail.length >= 2 * blockChars) {
    const cut = cutAt(tail);
    blocks.push(tail.slice(0, cut));
    tail = tail.slice(cut);
  }
  return { blocks, tail };
}

// Blocks are elements of their own, so that a cut at a line break is the best one.
function cutAt(tail: string): number {
  for (const mark of ["\n", " "]) {
    const at = tail.lastIndexOf(mark, blockChars);
    if (at > blockChars / 2) return at + 1;
  }
  const last = tail.charCodeAt(blockChars - 1);
  return last >= 0xd800 && last < 0xdc00 ? blockChars + 1 : blockChars; // not between the halves of a character
}

export const passageText = (p: Passage): string => p.blocks.join("") + p.tail;
