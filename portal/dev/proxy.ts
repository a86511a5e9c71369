/** Files of the bundle, which the control plane serves and in development Vite does. */
export const bundled: readonly string[] = ["/dev/", "/dev/{demo_file}.html", "/dev/sdk/{file_path}"];

/** The paths of the contract below /dev/, as they are written in openapi.yaml. */
export function pathsOf(document: string): string[] {
  const paths = /^paths:\n([\s\S]*?)^\w/m.exec(document)?.[1];
  if (paths === undefined) throw new Error("openapi.yaml has no paths");
  return [...paths.matchAll(/^ {2}"?(\/dev\/[^":\s]*)"?:/gm)].map((m) => m[1] ?? "");
}

/** What the development server passes on to the control plane: every operation of the contract below /dev/ but the files of the bundle. */
export function toControlPlane(document: string): string {
  const alternatives = pathsOf(document)
    .filter((path) => !bundled.includes(path))
    .map((path) => path.replaceAll(/\{\w+\}/g, "[^/.?]+")); // what has an ending is a source, as demos/kanban.tsx
  return `^(?:${alternatives.join("|")})(?:\\?|$)`;
}
