// What a user takes away: the lines of code that read the same cells, and a link to what is shown.
import { useSignal } from "@preact/signals";
import type { Line } from "../takeaway";

interface Props {
  /** Makes the lines when the list is opened. */
  lines(): readonly Line[];
}

export function TakeAway({ lines }: Props) {
  const open = useSignal(false);
  const copied = useSignal("");
  const copy = async (name: string, text: string) => {
    await navigator.clipboard.writeText(text);
    copied.value = name;
  };
  const all = open.value ? [...lines(), { name: "Link", code: location.href }] : [];
  return (
    <details id="take-away" open={open.value} onToggle={(event) => { open.value = event.currentTarget.open; }}>
      <summary>Take these cells with you</summary>
      {all.map(({ name, code }) => (
        <div key={name} class="code">
          <div class="row"><span>{name}</span><button type="button" class="plain" onClick={() => void copy(name, code)}>{copied.value === name ? "Copied" : "Copy"}</button></div>
          <pre tabIndex={0}>{code}</pre>
        </div>
      ))}
    </details>
  );
}
