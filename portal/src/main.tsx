import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { newQueryClient } from "./api/queries";
import { newRouter } from "./app/router";
import { currentDeveloper, onSessionChange, restoreSession } from "./session/session";
import { applyTheme } from "./ui/theme";
import { Toasts } from "./ui/toast";
import "./ui/style.css";

applyTheme();
const place = document.getElementById("root");
if (!place) throw new Error("the page has no place to show itself");
await restoreSession();

const client = newQueryClient();
const router = newRouter();
let who = currentDeveloper()?.id;
onSessionChange(() => {
  if (currentDeveloper()?.id === who) return;
  who = currentDeveloper()?.id;
  client.clear(); // nothing of one account is shown to the next
  void router.invalidate(); // routes that need a session ask for it again
});

createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);
