import createClient from "openapi-fetch";
import { endSession, freshToken } from "../session/session";
import type { components, paths } from "./contract.gen";
import { Failure, failureOf, noAnswer } from "./failure";

export type Schemas = components["schemas"];

/** Calls the control plane with the session's token. The types come from the contract. */
export const api = createClient<paths>({ baseUrl: location.origin });

api.use({
  async onRequest({ request }) {
    const token = await freshToken();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
  onResponse({ request, response }) {
    // A 401 with a token means the session ended; without one it is the answer to a wrong password. One that the
    // playground passes on is about the key.
    const passedOn = response.headers.has("X-Answered-By");
    if (response.status === 401 && request.headers.has("Authorization") && !passedOn) endSession();
    return response;
  },
});

/** The data of a call; a refusal is thrown as a Failure. */
export async function ask<T>(
  call: Promise<{ data?: T | undefined; error?: unknown; response: Response }>,
): Promise<T> {
  const answer = await call.catch((thrown: unknown) => {
    throw thrown instanceof TypeError ? new Failure(0, noAnswer) : thrown;
  });
  if (!answer.response.ok || answer.data === undefined) throw failureOf(answer.response, answer.error);
  return answer.data;
}
