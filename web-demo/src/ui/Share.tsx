// What shows the same picture elsewhere: a link, and HTML that embeds it in another page.
import { useSignal } from "@preact/signals";
import { isCopy } from "../copies";
import type { Model } from "../kind";
import { embeddedHash, written } from "../link";
import { Code } from "./Code";

export function Share({ model: { opened: { place } } }: { model: Model }) {
  const isOpen = useSignal(false);
  // The link changes with the picture.
  void written.value;
  return (
    <details id="share" open={isOpen.value} onToggle={(event) => { isOpen.value = event.currentTarget.open; }}>
      <summary>Share</summary>
      {!isOpen.value ? null : place.store
        ? <p class="note">Data of this device has no link. `hyperslab publish` makes a folder for any web server, with the data and this page.</p>
        : (
          <>
            {isCopy(place.url) ? <p class="note">The copy is in this browser, so the link works only here.</p> : null}
            <Code name="Link" code={location.href} />
            {isCopy(place.url) ? null : <Code name="HTML" code={frameOf(new URL(embeddedHash(), location.href).href)} />}
          </>
        )}
    </details>
  );
}

/** HTML that shows an address in a frame. */
function frameOf(address: string): string {
  return `<iframe src="${address.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}" title="Array shown by Hyperslab" width="800" height="500" style="border: 0" loading="lazy"></iframe>`;
}
