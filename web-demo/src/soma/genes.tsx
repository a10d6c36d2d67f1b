// The box that finds a gene by its name, to colour by it.
import { useComputed, useSignal } from "@preact/signals";
import type { SomaModel } from "./model";
import { findGenes, type Gene } from "./read";

const FOUND_MAX = 40;

export function GeneBox({ model }: { model: SomaModel }) {
  const typed = useSignal<string | undefined>(undefined);
  const chosen = useSignal(-1);
  const found = useComputed(() => (typed.value === undefined ? [] : findGenes(model.genes.value, typed.value, FOUND_MAX)));
  const by = model.by.value;
  const now = by && "gene" in by ? (by.gene.names[0] ?? "") : "";
  const options = found.value;
  const use = (gene: Gene | undefined) => {
    if (!gene) return;
    typed.value = undefined;
    void model.colourBy({ gene });
  };
  const press = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      typed.value ??= "";
      chosen.value = Math.max(0, Math.min(found.value.length - 1, chosen.value + (e.key === "ArrowDown" ? 1 : -1)));
    } else if (e.key === "Enter") use(options[Math.max(0, chosen.value)]);
    else if (e.key === "Escape") typed.value = undefined;
    else return;
    e.preventDefault();
  };
  return (
    <div class="soma-gene">
      <label for="soma-gene">Colour by gene, of {model.genes.value.length.toLocaleString("en")}</label>
      <input id="soma-gene" type="text" role="combobox" autocomplete="off" spellcheck={false} placeholder="name of a gene" aria-autocomplete="list" aria-controls="soma-genes"
        aria-expanded={options.length > 0} {...(chosen.value >= 0 && options.length > 0 ? { "aria-activedescendant": `soma-gene-${chosen.value}` } : {})}
        value={typed.value ?? now} onFocus={(e) => { e.currentTarget.select(); typed.value = ""; chosen.value = -1; }} onBlur={() => (typed.value = undefined)}
        onInput={(e) => { typed.value = e.currentTarget.value; chosen.value = -1; }} onKeyDown={press} />
      <ul id="soma-genes" class="table-options" role="listbox" aria-label="Genes" hidden={options.length === 0}>
        {options.map((gene, i) => (
          <li key={gene.id} id={`soma-gene-${i}`} role="option" aria-selected={i === chosen.value} ref={(element) => { if (i === chosen.value) element?.scrollIntoView({ block: "nearest" }); }}
            onMouseDown={(e) => { e.preventDefault(); use(gene); }}><span>{gene.names[0]}</span><small>{gene.names.slice(1).join(", ")}</small></li>
        ))}
      </ul>
    </div>
  );
}
