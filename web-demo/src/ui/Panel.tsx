// The side panel: the catalog, what to open, the controls, and the properties of what is open.
import { addressOf, arrayOf } from "../opened";
import { catalog, showListed, shown } from "../session";
import { Facts } from "./Facts";
import { OpenForm } from "./OpenForm";
import { TimeSlider } from "./TimeSlider";

export function Panel() {
  const now = shown.value;
  const url = now && addressOf(now.model.opened.place);
  const listed = catalog.value.find((entry) => entry.url === url);
  return (
    <aside id="panel">
      <header>
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 10.5 8 7l6 3.5L8 14z" fill="#35b779" /><path d="M2 5.5 8 2l6 3.5L8 9z" fill="#fde725" /></svg>
        <div><h1>Hyperslab</h1><p>TileDB arrays, read in the browser</p></div>
      </header>
      <nav id="catalog" aria-label="Samples">
        {catalog.value.map((entry) => (
          <button key={entry.url} type="button" aria-current={entry.url === url} data-url={entry.url} onClick={() => void showListed(entry)}>
            {entry.title}<small>{entry.about}</small>
          </button>
        ))}
      </nav>
      <OpenForm />
      {now ? (
        <section id="controls" aria-label="Controls">
          <now.kind.Controls key={now.kind.name} model={now.model} />
          <TimeSlider />
        </section>
      ) : null}
      {now && arrayOf(now.model.opened) ? <Facts opened={now.model.opened} /> : null}
      <footer id="attribution">{listed?.attribution}</footer>
    </aside>
  );
}
