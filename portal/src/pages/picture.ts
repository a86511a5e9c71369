import { Failure } from "../api/failure";
import { bytes } from "../format/number";

/** An image that goes with a prompt. */
export interface Picture {
  name: string;
  base64: string;
  url: string; // a data: address, for showing it
}

const mostBytes = 8_000_000;

export async function readPicture(file: File): Promise<Picture> {
  if (file.size > mostBytes)
    throw new Failure(0, `The image has ${bytes(file.size)}; at most ${bytes(mostBytes)} can be sent.`);
  const url = await new Promise<string>((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => fail(new Failure(0, "The image could not be read."));
    reader.readAsDataURL(file);
  });
  return { name: file.name, base64: url.slice(url.indexOf(",") + 1), url };
}
