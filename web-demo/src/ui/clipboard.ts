// The clipboard of the device.

/** Copies a text. Pages that were loaded without encryption have no clipboard; the old command works there. */
export async function toClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  if (!isCopied) throw new Error("the browser did not allow the page to copy; select the text and copy it by hand");
}
