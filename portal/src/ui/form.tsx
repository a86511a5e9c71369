import {
  createContext,
  type FormHTMLAttributes,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useContext,
  useId,
  useState,
} from "react";
import { asFailure, type Failure } from "../api/failure";
import { Button } from "./button";

const Problems = createContext<Failure | undefined>(undefined);
const Busy = createContext(false);

interface FormProps extends Omit<FormHTMLAttributes<HTMLFormElement>, "onSubmit"> {
  label: string;
  onSubmit: (data: FormData, form: HTMLFormElement) => Promise<unknown>;
  children: ReactNode;
}

/** A form that is busy while it is sent. A refusal shows beside its field, or above the button, and what was typed stays. */
export function Form({ label, onSubmit, children, className = "", ...rest }: FormProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  return (
    <Problems.Provider value={failure}>
      <Busy.Provider value={busy}>
        <form
          aria-label={label}
          aria-busy={busy}
          className={`flex flex-col gap-4 ${className}`}
          onSubmit={async (event) => {
            event.preventDefault();
            const form = event.currentTarget;
            setBusy(true);
            try {
              await onSubmit(new FormData(form), form);
              setFailure(undefined);
            } catch (thrown) {
              setFailure(asFailure(thrown));
            } finally {
              setBusy(false);
            }
          }}
          {...rest}
        >
          {children}
        </form>
      </Busy.Provider>
    </Problems.Provider>
  );
}

/** The button that sends the form, under what went wrong as a whole. */
export function Submit({ children, wide = false }: { children: ReactNode; wide?: boolean }) {
  const busy = useContext(Busy);
  const failure = useContext(Problems);
  return (
    <div className="flex flex-col gap-3">
      {failure && (
        <p role="alert" className="rounded-lg bg-bad-wash px-3 py-2 text-bad">
          {failure.message}
          {failure.retryAfter !== null && ` Try again in ${failure.retryAfter} s.`}
        </p>
      )}
      <div className={wide ? "flex flex-col" : "flex"}>
        <Button type="submit" look="primary" disabled={busy}>
          {children}
        </Button>
      </div>
    </div>
  );
}

interface FieldProps {
  label: string;
  hint?: ReactNode;
  name: string;
}

function Field({
  label,
  hint,
  name,
  children,
}: FieldProps & { children: (a: { id: string; "aria-describedby": string | undefined }) => ReactNode }) {
  const id = useId();
  const problem = useContext(Problems)?.of(name);
  const described = problem || hint ? `${id}-hint` : undefined;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({ id, "aria-describedby": described })}
      {described && (
        <p id={described} className={`text-sm ${problem ? "text-bad" : "text-muted"}`}>
          {problem ?? hint}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  name,
  className = "",
  ...rest
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field label={label} hint={hint} name={name}>
      {(a) => <input {...a} name={name} className={`field ${className}`} {...rest} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  name,
  className = "",
  ...rest
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field label={label} hint={hint} name={name}>
      {(a) => <textarea {...a} name={name} className={`field ${className}`} {...rest} />}
    </Field>
  );
}

export function Choice({
  label,
  hint,
  name,
  children,
  ...rest
}: FieldProps & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <Field label={label} hint={hint} name={name}>
      {(a) => (
        <select {...a} name={name} className="field" {...rest}>
          {children}
        </select>
      )}
    </Field>
  );
}

/** The text of a form's field. */
export function text(data: FormData, name: string): string {
  return String(data.get(name) ?? "");
}
