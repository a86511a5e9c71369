/** How long the value before goes on working when a key is rotated, in seconds. */
export const graces = [
  { seconds: 0, label: "Not at all", about: "For a value that leaked: calls with it are refused at once." },
  { seconds: 3_600, label: "1 hour", about: "For one program that you restart now." },
  { seconds: 86_400, label: "24 hours", about: "For a rollout over a day." },
  {
    seconds: 604_800,
    label: "7 days",
    about: "For values that others have to change. The longest there is.",
  },
] as const;

export const defaultGrace = 86_400;
