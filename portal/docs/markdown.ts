import { marked } from "marked";

export interface Section {
  id: string; // "limits/dry-runs"; the first of a guide has the guide's own
  guide: string;
  title: string;
  html: string;
  text: string; // for the search
}

export interface Guide {
  id: string;
  title: string;
  sections: Section[];
}

const slug = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");

/** Makes a guide of a file such as 05-limits.md, cut at its headings. Runs when the bundle is built. */
export function guideOf(file: string, markdown: string): Guide {
  const id = file.replace(/^\d+-/, "").replace(/\.md$/, "");
  const parts = markdown.split(/^(?=##? )/m).filter((p) => p.trim());
  const sections = parts.map((part, i) => {
    const title = (/^##? (.*)$/m.exec(part)?.[1] ?? id).trim();
    const own = i === 0 ? id : `${id}/${slug(title)}`;
    const html = (marked.parse(part, { async: false }) as string)
      .replace(/<h([12])>/, `<h$1 id="${own}">`)
      .replaceAll("<pre>", '<pre tabindex="0">')
      .replaceAll("<table>", '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
      .replaceAll("</table>", "</table></div>");
    return { id: own, guide: id, title, html, text: part.replaceAll(/[#`|*]/g, " ") };
  });
  return { id, title: sections[0]?.title ?? id, sections };
}
