/** The content of a file in base64. */
export async function base64(blob: Blob): Promise<string> {
  const url = await new Promise<string>((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => fail(new Error("The file could not be read."));
    reader.readAsDataURL(blob);
  });
  return url.slice(url.indexOf(",") + 1);
}

/** Base64 as a file that the page can show or play. */
export function blobOf(text: string, type: string): Blob {
  return new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], { type });
}
