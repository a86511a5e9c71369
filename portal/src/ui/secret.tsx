import { Code } from "./code";

/** The value of a key, shown because its owner asked for it. */
export function Secret({ value, variable = "MODELGATE_KEY" }: { value: string; variable?: string }) {
  return (
    <div className="flex flex-col gap-3">
      <Code text={value} label="The key" />
      <Code text={`${variable}=${value}`} label="For an .env file" />
    </div>
  );
}
