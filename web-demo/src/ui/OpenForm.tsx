// Opens a URL, or a folder of this device.
import { useSignal, useSignalEffect } from "@preact/signals";
import { DirectoryStore } from "hyperslab";
import { addressOf, placeOfAddress } from "../opened";
import { failure, messageOf, show, shown } from "../session";

export function OpenForm() {
  const url = useSignal("");
  useSignalEffect(() => {
    const place = shown.value?.model.opened.place;
    if (place && !place.store) url.value = addressOf(place);
  });
  const open = (event: Event) => {
    event.preventDefault();
    if (url.value.trim()) void show(placeOfAddress(url.value.trim()));
  };
  return (
    <form id="address" onSubmit={open}>
      <label for="url">URL of an array or a group</label>
      <div class="row">
        <input id="url" type="text" placeholder="https://…/array" autocomplete="off" spellcheck={false} value={url.value} onInput={(event) => { url.value = event.currentTarget.value; }} />
        <button type="submit">Open</button>
      </div>
      <button id="pick" type="button" onClick={() => void pick()}>Open a folder on this device</button>
    </form>
  );
}

/** Asks the user for a folder, and shows it. */
async function pick(): Promise<void> {
  try {
    if (!("showDirectoryPicker" in window)) return choose();
    await show({ url: "a folder on this device", store: await DirectoryStore.pick({ mode: "read" }), path: "" });
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) failure.value = messageOf(error);
  }
}

/** In browsers that cannot pick a folder, its files can be chosen. */
function choose(): void {
  const input = document.createElement("input");
  Object.assign(input, { type: "file", webkitdirectory: true });
  input.onchange = () => { if (input.files?.length) void show({ url: "a folder on this device", store: DirectoryStore.fromFiles(input.files), path: "" }); };
  input.click();
}
