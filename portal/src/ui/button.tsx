import { type ButtonHTMLAttributes, useEffect, useState } from "react";
import { Icon, type IconName } from "./icon";
import { toast } from "./toast";

type Look = "primary" | "plain" | "quiet" | "danger";

const looks: Record<Look, string> = {
  primary: "bg-button text-on-button border-transparent hover:bg-button-strong",
  plain: "bg-surface text-ink border-edge hover:bg-sunken",
  quiet: "bg-transparent text-ink border-transparent hover:bg-sunken",
  danger: "bg-surface text-bad border-bad hover:bg-bad-wash",
};

const shape =
  "inline-flex items-center justify-center gap-2 whitespace-nowrap rounded-lg border px-3.5 py-1.5 font-medium min-h-9 disabled:opacity-60";

/** Classes that make a link look like a button. */
export function buttonClass(look: Look = "plain"): string {
  return `${shape} ${looks[look]}`;
}

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  icon?: IconName;
}

export function Button({ look = "plain", icon, className = "", children, ...rest }: Props) {
  return (
    <button type="button" className={`${buttonClass(look)} ${className}`} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

const saidForMs = 1500;

/** Copies a text and says so. */
export function CopyButton({ text, label, look = "plain" }: { text: string; label: string; look?: Look }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), saidForMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      toast("bad", "The browser did not allow copying. Select the text and copy it yourself.");
    }
  };
  return (
    <Button look={look} icon={copied ? "check" : "copy"} onClick={copy}>
      {copied ? "Copied" : label}
    </Button>
  );
}
