// The side panel: the catalog, what to open, the controls, and the properties of what is open.
import { copies, nameOfCopy, removeCopy } from "../copies";
import { rootOf, Tree } from "../group/Tree";
import { addressOf, arrayOf } from "../opened";
import { catalog, failure, messageOf, show, showListed, shown } from "../session";
import { Compare } from "./Compare";
import { Facts } from "./Facts";
import { OpenForm } from "./OpenForm";
import { Share } from "./Share";
import { TimeSlider } from "./TimeSlider";

export function Panel() {
  const now = shown.value;
  const url = now && addressOf(now.model.opened.place);
  const group = now && rootOf(now.model.opened);
  const listed = catalog.value.find((entry) => entry.url === url);
  return (
    <aside id="panel">
      <header>
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 10.5 8 7l6 3.5L8 14z" fill="#35b779" /><path d="M2 5.5 8 2l6 3.5L8 9z" fill="#fde725" /></svg>
        <div><h1>Hyperslab</h1><p>TileDB arrays, read in the browser</p></div>
      </header>
      <nav id="catalog" aria-label="Arrays">
        {catalog.value.map((entry) => (
          <button key={entry.url} type="button" aria-current={entry.url === url} data-url={entry.url} onClick={() => void showListed(entry)}>
            {entry.thumbnail ? <img src={entry.thumbnail} alt="" width={56} height={42} /> : null}
            <span>{entry.title}<small>{entry.about}</small></span>
          </button>
        ))}
      </nav>
      <Copies shown={url} />
      <OpenForm />
      {now && group ? <Tree key={addressOf(group.place)} group={group} shown={now.model.opened} /> : null}
      {now ? (
        <section id="controls" aria-label="Controls">
          <now.kind.Controls key={now.kind.name} model={now.model} />
          <TimeSlider />
          {now.kind.compares ? <Compare /> : null}
          <Share model={now.model} />
        </section>
      ) : null}
      {now && arrayOf(now.model.opened) ? <Facts opened={now.model.opened} /> : null}
      <footer id="attribution">{listed?.attribution}</footer>
    </aside>
  );
}

/** The copies on this device. */
function Copies({ shown: url }: { shown: string | undefined }) {
  if (copies.value.length === 0) return null;
  return (
    <nav id="copies" aria-label="Copies on this device">
      {copies.value.map((copy) => (
        <div class="row" key={copy}>
          <button type="button" aria-current={url?.startsWith(copy) ?? false} onClick={() => void show({ url: copy, path: "" })}>{nameOfCopy(copy)}<small>Copy on this device</small></button>
          <button type="button" class="plain" aria-label={`Delete the copy ${nameOfCopy(copy)}`} onClick={() => { if (confirm(`Delete the copy ${nameOfCopy(copy)} from this device? This cannot be undone.`)) void removeCopy(copy).catch((error: unknown) => { failure.value = messageOf(error); }); }}>×</button>
        </div>
      ))}
    </nav>
  );
}
