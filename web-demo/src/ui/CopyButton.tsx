// A button that copies text.
import { useSignal } from "@preact/signals";

/** `what` names the text for screen readers. */
export function CopyButton({ text, what }: { text: string; what?: string }) {
  const copied = useSignal<string | undefined>(undefined);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = text;
  };
  return <button type="button" class="plain" {...(what ? { "aria-label": `Copy ${what}` } : {})} onClick={() => void copy()}>{copied.value === text ? "Copied" : "Copy"}</button>;
}
