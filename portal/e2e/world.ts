import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "@playwright/test";

const run = promisify(execFile);

/** Runs an operator's command on the stack under test, for what nobody can do in the portal. bench/journey says where it is. */
export async function operator(...args: string[]): Promise<string> {
  const program = process.env.CONTROLPLANE ?? "";
  const config = process.env.CONTROLPLANE_CONFIG ?? "";
  if (!program || !config) throw new Error("CONTROLPLANE and CONTROLPLANE_CONFIG are not set");
  return (await run(program, ["-config", config, ...args])).stdout;
}

interface Mail {
  subject: string;
  text: string;
}

const mailWithinMs = 30_000;

/** The link of the last mail to an address whose subject fits, as the part of the address behind the #. Waits for the mail. */
export async function mailedLink(to: string, subject: RegExp): Promise<string> {
  let link = "";
  await expect(async () => {
    const response = await fetch(`${process.env.MAILBOX_URL}/api/messages?to=${encodeURIComponent(to)}`);
    const mails = (await response.json()) as Mail[];
    const mail = mails.filter((m) => subject.test(m.subject)).at(-1);
    link = /\/dev\/#(\/\S+)/.exec(mail?.text ?? "")?.[1] ?? "";
    expect(link).not.toBe("");
  }).toPass({ timeout: mailWithinMs });
  return link;
}
