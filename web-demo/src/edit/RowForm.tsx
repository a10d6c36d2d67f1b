// A form with an input for each field of a row.
import { useSignal } from "@preact/signals";
import type { Draft } from "./draft";
import { hintOf } from "./parse";

interface Props {
  /** The texts to start with. To start with another draft, give the form another `key`. */
  draft: Draft;
  /** The label of the button. */
  action: string;
  /** Whether other work is running, so that the button waits. */
  isBusy: boolean;
  onWrite(entered: ReadonlyMap<string, string>): void;
}

export function RowForm({ draft: { fields, texts }, action, isBusy, onWrite }: Props) {
  const entered = useSignal(texts);
  const submit = (event: Event) => {
    event.preventDefault();
    // Enter submits the form even if its button is disabled in some browsers.
    if (!isBusy) onWrite(entered.peek());
  };
  return (
    <form class="row-form" onSubmit={submit}>
      {fields.map((field) => {
        const hint = hintOf(field);
        const input = { name: field.name, title: hint, placeholder: hint, autocomplete: "off", spellcheck: false, value: entered.value.get(field.name) ?? "" } as const;
        const enter = (text: string) => { entered.value = new Map(entered.peek()).set(field.name, text); };
        // Text may have several lines.
        return (
          <label key={field.name}>{field.name || "(unnamed)"}
            {field.sort === "text" ? <textarea {...input} rows={1} onInput={(event) => enter(event.currentTarget.value)} /> : <input {...input} type="text" onInput={(event) => enter(event.currentTarget.value)} />}
          </label>
        );
      })}
      <button type="submit" class="plain" disabled={isBusy}>{action}</button>
    </form>
  );
}
