import MiniSearch from "minisearch";

/** A piece of a document. */
export interface Passage {
  id: number; // from 1, as it is cited
  text: string;
}

const passageChars = 1_200;

/** Cuts a document at its paragraphs into passages of about the same size. */
export function passagesOf(document: string): Passage[] {
  const texts: string[] = [];
  let open = "";
  for (const paragraph of document.split(/\n\s*\n/).map((p) => p.trim())) {
    for (let at = 0; at < paragraph.length; at += passageChars) {
      const piece = paragraph.slice(at, at + passageChars);
      if (open && open.length + piece.length > passageChars) {
        texts.push(open);
        open = "";
      }
      open = open ? `${open}\n\n${piece}` : piece;
    }
  }
  if (open) texts.push(open);
  return texts.map((text, i) => ({ id: i + 1, text }));
}

/** The passages that have most to do with a question (BM25), in the order of the document; the first ones if none has. */
export function relevant(passages: Passage[], question: string, most: number): Passage[] {
  if (passages.length <= most) return passages;
  const index = new MiniSearch<Passage>({ fields: ["text"] });
  index.addAll(passages);
  const found = new Set(
    index
      .search(question, { prefix: true, fuzzy: 0.1 })
      .slice(0, most)
      .map((r) => r.id as number),
  );
  return found.size > 0 ? passages.filter((p) => found.has(p.id)) : passages.slice(0, most);
}

/** What the model is told about a document. */
export function instructionFor(name: string, passages: Passage[]): string {
  const texts = passages.map((p) => `[${p.id}]\n${p.text}`).join("\n\n");
  return `Answer from these passages of the document "${name}" only, and cite them as [1]. If the answer is not in them, say so.\n\n${texts}`;
}
