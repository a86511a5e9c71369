import createClient from "openapi-fetch";
import { accessToken, endSession } from "../session/session";
import type { paths } from "./contract.gen";

/** Calls the control plane with the session's token. The types come from the contract. */
export const api = createClient<paths>({ baseUrl: location.origin });

api.use({
  onRequest({ request }) {
    const token = accessToken();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
  onResponse({ request, response }) {
    // A 401 with a token means the session ended; without one it is the answer to a wrong password.
    if (response.status === 401 && request.headers.has("Authorization")) endSession();
    return response;
  },
});

/** Says in one line why a call failed; every error of the API carries a `detail`. */
export function reason(error: unknown): string {
  const detail = (error as { detail?: unknown } | undefined)?.detail;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail))
    return detail
      .map((v: { loc: unknown[]; msg: string }) => `${v.loc.slice(1).join(".")}: ${v.msg}`)
      .join("; ");
  return "The service did not answer. Check the connection and try again.";
}
