// A button that copies text.
import { useSignal } from "@preact/signals";
import { toClipboard } from "./clipboard";

/** `what` names the text for screen readers. */
export function CopyButton({ text, what }: { text: string; what?: string }) {
  const copied = useSignal<{ text: string; label: string } | undefined>(undefined);
  const copy = async () => {
    copied.value = { text, label: await toClipboard(text).then(() => "Copied", () => "Select the text to copy it") };
  };
  return <button type="button" class="plain" {...(what ? { "aria-label": `Copy ${what}` } : {})} onClick={() => void copy()}>{copied.value?.text === text ? copied.value.label : "Copy"}</button>;
}
