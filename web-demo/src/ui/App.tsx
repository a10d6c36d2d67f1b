// The page: the side panel, and the main area with what is shown.
import { useSignalEffect } from "@preact/signals";
import { isEmbedded, wholeHash, written } from "../link";
import { busy, failure, opening, shown } from "../session";
import { Guard } from "./Guard";
import { Dropped } from "./Dropped";
import { Inspector } from "./Inspector";
import { Message } from "./Message";
import { Panel } from "./Panel";

export function App() {
  // Tests and scripts wait for this.
  useSignalEffect(() => { document.body.dataset["busy"] = String(busy.value > 0); });
  useSignalEffect(() => { document.body.classList.toggle("embedded", isEmbedded.value); });
  const now = shown.value;
  return (
    <>
      {isEmbedded.value ? null : <Panel />}
      <main>
        {now ? <Guard key={`${now.kind.name} ${now.model.opened.place.url}`}><now.kind.Stage key={now.kind.name} model={now.model} /></Guard> : null}
        <Message text={failure.value ?? now?.model.failure.value} hint={hint()} />
        {isEmbedded.value ? <WholePage /> : <><Inspector /><Dropped /></>}
      </main>
    </>
  );
}

/** A link from an embedded page to the whole one. */
function WholePage() {
  void written.value;
  return <a id="whole" href={wholeHash()} target="_blank" rel="noopener">Open in Hyperslab</a>;
}

/** What to say while there is no picture. */
function hint(): string | undefined {
  if (opening.value) return shown.value ? undefined : "Opening…";
  if (shown.value) return undefined;
  return "Enter the URL of an array or a group on the left, or drop a folder here. Its server must support byte ranges and, on another origin, CORS.";
}
