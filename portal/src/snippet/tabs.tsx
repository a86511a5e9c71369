import { Tabs } from "radix-ui";
import { useState } from "react";
import { Code } from "../ui/code";
import { type Language, languages, type Sample, snippet } from "./snippet";

/** A call in four languages. */
export function SnippetTabs({ sample }: { sample: Sample }) {
  const [language, setLanguage] = useState<Language>("curl");
  return (
    <Tabs.Root value={language} onValueChange={(v) => setLanguage(v as Language)}>
      <Tabs.List aria-label="Language" className="mb-2 flex flex-wrap gap-1">
        {languages.map((l) => (
          <Tabs.Trigger
            key={l}
            value={l}
            className="rounded-md px-2 py-1 sm:px-3 text-muted hover:bg-sunken data-[state=active]:bg-wash data-[state=active]:font-medium data-[state=active]:text-accent"
          >
            {l}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {languages.map((l) => (
        <Tabs.Content key={l} value={l}>
          <Code text={snippet(l, sample)} label={`${l}${sample.apiKey ? "" : ", key in MODELGATE_KEY"}`} />
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
