// What the scripts here share: settings, checks, and looks at the simulator and the portal.
//
// A script declares its checks with check() and ends with run(). The first line on standard output names them all, and each of the
// following ones tells how one went; whatever a library prints goes to standard error.
import assert from "node:assert/strict";

const withinMs = 30_000; // for what happens behind the answer: the model server's journal, the portal's usage
const checkMs = 120_000; // for one check

console.log = console.info = console.debug = console.error;

/** What bench/clients says about the system under test. */
export function setting(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this through \`go test ./clients\` in bench`);
  return value;
}

export const gateway = `${setting("GATEWAY_URL")}/v1`;
export const model = setting("MODEL"); // no other script uses it
export const key = setting("KEY");
export const limitedKey = setting("LIMITED_KEY"); // may make one call a minute
export const narrowKey = setting("NARROW_KEY"); // may not use any model to chat with
export const singleKey = setting("SINGLE_KEY"); // may make one call at a time
export const unknownKey = `svc_test_${"0".repeat(51)}`;
export const tooLarge = "x".repeat(13 << 20); // no body may hold it

export const long = "one two three four five six seven eight nine ten ".repeat(4).trim();

/** A prompt whose answer takes a minute, found again by its name. */
export const endless = (name) => `[[scenario:many-tokens n=3000 delay=20ms id=${name}]]`;

const checks = [];

export function check(name, body) {
  checks.push({ name, body });
}

/** Runs the checks, then end() if there is something to end. */
export async function run(end = () => {}) {
  tell({ plan: checks.map((one) => one.name) });
  for (const { name, body } of checks) {
    try {
      await inTime(body());
      tell({ name, ok: true, detail: "" });
    } catch (error) {
      tell({ name, ok: false, detail: describe(error) });
    }
  }
  await end();
  process.exit(0); // a client may hold connections
}

function tell(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function describe(error) {
  const cause = error?.cause ? `\ncaused by ${describe(error.cause)}` : "";
  return `${error?.stack ?? error}${cause}`;
}

function inTime(work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the check did not end within ${checkMs} ms`)), checkMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The error of a call, which must be of this very class. */
export async function failure(kind, call) {
  const error = await Promise.resolve(typeof call === "function" ? call() : call).then(
    () => assert.fail(`nothing was thrown, want ${kind.name}`),
    (thrown) => thrown,
  );
  if (error?.constructor !== kind) {
    throw new Error(`got ${error?.constructor?.name}, want ${kind.name}: ${error?.message}`, { cause: error });
  }
  return error;
}

/** Retry-After of a limit per minute: never longer than the minute and the second that it is rounded up to. */
export function waitMinute(retryAfter) {
  const seconds = Number(retryAfter);
  assert.ok(seconds > 0 && seconds <= 61, `Retry-After is ${retryAfter}`);
}

/** Repeats a look until it returns undefined; what it returned last is the reason otherwise. */
async function eventually(look) {
  for (const until = Date.now() + withinMs; ; ) {
    const why = await look();
    if (why === undefined) return;
    if (Date.now() > until) throw new Error(`not within ${withinMs} ms: ${why}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function read(url, bearer) {
  const answer = await fetch(url, bearer ? { headers: { Authorization: `Bearer ${bearer}` } } : {});
  assert.equal(answer.status, 200, url);
  return answer.json();
}

/** How many calls of our app ended because the client left, as the portal shows it. */
export async function callsLeft() {
  const usage = await read(`${setting("PORTAL_URL")}/dev/apps/${setting("APP_ID")}/usage`, setting("SESSION"));
  return usage.by_status.reduce((sum, status) => sum + (status.ends.client_gone ?? 0), 0);
}

/** The model server learned that the caller left, and the portal shows the call as such. */
export async function cancelled(name, before) {
  await eventually(async () => {
    const { requests } = await read(`${setting("SIMULATOR_URL")}/_mock/requests`);
    const seen = requests.filter((one) => one.scenario.includes(`id=${name}`)).map((one) => one.outcome);
    return seen.length === 1 && seen[0] === "client_gone" ? undefined : `outcomes at the model server: ${seen}`;
  });
  await eventually(async () => {
    const now = await callsLeft();
    return now === before + 1 ? undefined : `${now} calls that the client left, ${before} before`;
  });
}

/**
 * A fetch that notes every attempt, and lets go of the only place of singleKey at the first refusal. release() is called then.
 * waited() holds that after every refusal the client waited as long as Retry-After says.
 */
export function attempts(release) {
  const sent = [];
  const refused = [];
  return {
    async fetch(url, init) {
      sent.push(performance.now());
      const answer = await fetch(url, init);
      if (answer.status === 429) {
        refused.push({ at: performance.now(), seconds: Number(answer.headers.get("retry-after")) });
        release();
      }
      return answer;
    },
    waited() {
      assert.ok(refused.length > 0, "the call was never refused");
      assert.equal(sent.length, refused.length + 1, "attempts");
      refused.forEach(({ at, seconds }, i) => {
        assert.ok(seconds >= 1, `Retry-After is ${seconds}`);
        const waited = (sent[i + 1] - at) / 1000;
        assert.ok(waited >= seconds - 0.05, `tried again after ${waited} s of ${seconds}`);
      });
    },
  };
}
