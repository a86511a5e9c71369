import { api } from "../api/client";
import { endSession } from "../session/session";

/** Ends the session at the server, and here whatever the server says. */
export async function signOut(): Promise<void> {
  try {
    await api.POST("/dev/auth/logout");
  } finally {
    endSession();
  }
}
