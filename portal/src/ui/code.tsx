import { CopyButton } from "./button";

/** Text for a terminal or an editor, with a way to copy it. Long lines scroll, also by keyboard. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-sunken">
      <div className="flex items-center justify-between border-b border-line px-3 py-1">
        <span className="text-sm text-muted">{label}</span>
        <CopyButton text={text} label="Copy" look="quiet" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="max-h-96 overflow-auto p-3 font-mono text-sm">
        <code>{text}</code>
      </pre>
    </div>
  );
}
