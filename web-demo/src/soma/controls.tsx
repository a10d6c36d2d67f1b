// The controls of an experiment: the map, the colours with their legend, and the summary of the selection.
import { colormap } from "hyperslab/deck";
import { useEffect, useRef } from "preact/hooks";
import { number } from "../text";
import { SavePicture } from "../ui/SavePicture";
import { captionOf } from "./caption";
import { isColour, type Categories, type Numbers } from "./colouring";
import { GeneBox } from "./genes";
import type { SomaModel } from "./model";
import { categoryColour, cssColour } from "./palette";
import { sizeFor } from "./stage";
import type { Expressed } from "./summary";

/** The maximum number of groups that are listed. */
const GROUPS_MAX = 200;

export function Controls({ model }: { model: SomaModel }) {
  const { maps, layers } = model.experiment;
  const by = model.by.value;
  const columns = model.obs.fields.value.filter(isColour);
  const shown = by && "column" in by ? by.column : "";
  return (
    <div class="soma-controls">
      {maps.length > 1 ? <Choice id="soma-place" label="Embedding" options={maps.map(({ name }, i) => [String(i), name])} value={String(model.map.value)} onChange={(i) => void model.showMap(Number(i))} /> : null}
      <Choice id="soma-by" label="Colour by column" options={[...(shown ? [] : [["", "–"] as const]), ...columns.map(({ name }) => [name, name] as const)]} value={shown} onChange={(column) => { if (column) void model.colourBy({ column }); }} />
      {layers.length > 1 ? <Choice id="soma-layer" label="Matrix" options={layers.map(({ name }, i) => [String(i), name])} value={String(model.layer.value)} onChange={(i) => void model.useLayer(Number(i))} /> : null}
      {layers.length > 0 ? <GeneBox model={model} /> : null}
      <label>Size of points
        <input type="range" min="0.5" max="10" step="0.5" value={model.pointSize.value || sizeFor(model.positions.value?.length ?? 0)} onInput={(e) => (model.pointSize.value = Number(e.currentTarget.value))} />
      </label>
      <Legend model={model} />
      {maps.length > 0 ? <SavePicture model={model} caption={() => captionOf(model)} /> : null}
      <SummaryTable model={model} />
    </div>
  );
}

function Choice({ id, label, options, value, onChange }: { id: string; label: string; options: readonly (readonly [string, string])[]; value: string; onChange(value: string): void }) {
  return (
    <label>{label}
      <select id={id} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map(([key, text]) => <option key={key} value={key} selected={key === value}>{text}</option>)}
      </select>
    </label>
  );
}

function Legend({ model }: { model: SomaModel }) {
  const colouring = model.colouring.value;
  if (!colouring) return null;
  return colouring.kind === "numbers" ? <Ramp model={model} colouring={colouring} /> : <CategoryList model={model} colouring={colouring} />;
}

/** Each category with its colour and the number of its observations. A click hides it. */
function CategoryList({ model, colouring }: { model: SomaModel; colouring: Categories }) {
  const { labels, counts } = colouring;
  return (
    <fieldset class="soma-legend">
      <legend>{colouring.name}</legend>
      {labels.slice(0, GROUPS_MAX).map((label, code) => {
        const isShown = !model.hidden.value.has(code);
        return (
          <button key={code} type="button" aria-pressed={isShown} title={isShown ? "Hide these observations" : "Show these observations"} onClick={() => model.toggle(code)}>
            <i style={{ background: cssColour(categoryColour(code)) }} /><span>{label}</span><small>{(counts[code] ?? 0).toLocaleString("en")}</small>
          </button>
        );
      })}
      {labels.length > GROUPS_MAX ? <p>and {labels.length - GROUPS_MAX} more</p> : null}
    </fieldset>
  );
}

/** The range of numbers with their colours. Its ends can be changed, so that a few high numbers do not hide the others. */
function Ramp({ model, colouring: { name, low, high } }: { model: SomaModel; colouring: Numbers }) {
  const bar = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const image = new ImageData(256, 1);
    image.data.set(colormap("viridis"));
    bar.current?.getContext("2d")?.putImageData(image, 0, 0);
  }, []);
  const [from, to] = model.range.value ?? [low, high];
  const change = (ends: readonly [number, number]) => {
    if (ends.every(Number.isFinite)) model.range.value = ends;
  };
  return (
    <figure class="soma-ramp">
      <figcaption>{name}</figcaption>
      <canvas ref={bar} width={256} height={1} aria-hidden="true" />
      <p>
        <input type="number" step="any" aria-label="Number of the lowest colour" value={short(from)} onChange={(e) => change([e.currentTarget.valueAsNumber, to])} />
        {model.range.value ? <button type="button" onClick={() => (model.range.value = undefined)}>Reset</button> : null}
        <input type="number" step="any" aria-label="Number of the highest colour" value={short(to)} onChange={(e) => change([from, e.currentTarget.valueAsNumber])} />
      </p>
    </figure>
  );
}

function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** How many observations of each category there are, and the mean of the gene. */
function SummaryTable({ model }: { model: SomaModel }) {
  const { count, gene, groups } = model.summary.value;
  const isPart = model.selection.value !== undefined;
  const name = model.expression.value?.gene.names[0];
  if (model.positions.value === undefined) return null;
  return (
    <section class="soma-summary" aria-label="Summary" aria-live="polite">
      <h2>{count.toLocaleString("en")} {isPart ? "selected" : "observations"}</h2>
      {gene && name !== undefined ? <p>{name}: {expressed(gene)}</p> : null}
      {groups.length > 0 ? (
        <table>
          <thead><tr><th scope="col">{model.groups.value?.name}</th><th scope="col">number</th><th scope="col">%</th>{gene ? <th scope="col">mean</th> : null}</tr></thead>
          <tbody>{groups.slice(0, GROUPS_MAX).map((group) => (
            <tr key={group.code}>
              <th scope="row">{group.code < 0 ? group.label : <button type="button" title="Select these observations" onClick={() => model.selectCategory(group.code)}>{group.label}</button>}</th><td>{group.count.toLocaleString("en")}</td><td>{((group.count / count) * 100).toFixed(1)}</td>
              {gene ? <td>{group.gene ? number(group.gene.mean) : ""}</td> : null}
            </tr>
          ))}</tbody>
        </table>
      ) : null}
    </section>
  );
}

function expressed({ mean, share }: Expressed): string {
  return `mean ${number(mean)}, not 0 in ${(share * 100).toFixed(1)} %`;
}
