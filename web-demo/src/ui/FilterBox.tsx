// A box for the condition that cells must meet.
import { useSignal } from "@preact/signals";

interface Props {
  where: string;
  onWhere(where: string): void;
  /** A condition to show while the box is empty. */
  example: string;
}

export function FilterBox({ where, onWhere, example }: Props) {
  const entered = useSignal<string | undefined>(undefined);
  const text = entered.value ?? where;
  const submit = (event: Event) => {
    event.preventDefault();
    entered.value = undefined;
    onWhere(text.trim());
  };
  return (
    <form id="filter" onSubmit={submit}>
      <label for="where">Only where</label>
      <div class="row">
        <input id="where" type="text" autocomplete="off" spellcheck={false} placeholder={example} value={text} onInput={(event) => { entered.value = event.currentTarget.value; }} />
        <button type="submit">Filter</button>
      </div>
    </form>
  );
}
