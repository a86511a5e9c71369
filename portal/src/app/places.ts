import type { IconName } from "../ui/icon";

export interface Place {
  to:
    | "/"
    | "/apps"
    | "/darwin-tokens"
    | "/usage"
    | "/limits"
    | "/log"
    | "/billing"
    | "/playground"
    | "/demos"
    | "/models"
    | "/images"
    | "/organization"
    | "/audit"
    | "/settings";
  label: string;
  icon: IconName;
}

export const places: { title: string; places: Place[] }[] = [
  {
    title: "Build",
    places: [
      { to: "/", label: "Overview", icon: "home" },
      { to: "/apps", label: "Apps and keys", icon: "apps" },
      { to: "/playground", label: "Playground", icon: "play" },
      { to: "/demos", label: "Demos", icon: "spark" },
      { to: "/darwin-tokens", label: "Darwin tokens", icon: "token" },
    ],
  },
  {
    title: "Watch",
    places: [
      { to: "/usage", label: "Usage", icon: "chart" },
      { to: "/log", label: "Request log", icon: "list" },
      { to: "/limits", label: "Limits", icon: "gauge" },
      { to: "/billing", label: "Billing", icon: "card" },
    ],
  },
  {
    title: "Account",
    places: [
      { to: "/organization", label: "Organization", icon: "people" },
      { to: "/audit", label: "Audit log", icon: "shield" },
    ],
  },
  {
    title: "Look up",
    places: [
      { to: "/models", label: "Models and skills", icon: "cube" },
      { to: "/images", label: "Device images", icon: "chip" },
    ],
  },
];

/** Pages that the control plane serves itself. */
export const documents: { href: string; label: string; icon: IconName }[] = [
  { href: "/dev/docs-page", label: "Documentation", icon: "book" },
  { href: "/dev/openapi", label: "API reference", icon: "code" },
];
