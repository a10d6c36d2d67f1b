// The controls of a grid: which variable, which position on the axes that are not drawn, which colours.
import { Select } from "../ui/Select";
import { ChannelControls } from "./ChannelControls";
import { COLORMAPS } from "../colors";
import { planOf } from "../plan";
import { gridFiles, gridLines, type File, type Line } from "../takeaway";
import { TakeAway } from "../ui/TakeAway";
import { SavePicture } from "../ui/SavePicture";
import type { LabelledAxis } from "./axes";
import { WritesToggle } from "../writes/Toggle";
import { captionOf } from "./caption";
import { Histogram } from "../ui/Histogram";
import { MeasureControls } from "./measure/Controls";
import { PaintControls } from "./PaintControls";
import type { GridModel } from "./model";

export function Controls({ model }: { model: GridModel }) {
  const loaded = model.loaded.value;
  return (
    <>
      <Select id="attribute" label={model.variables.length > 1 ? "Variable" : "Attribute"} options={model.variables.map(({ name, long_name }) => ({ value: name, text: name || "(unnamed)", title: long_name }))}
        value={model.chosen.value} onChange={(name) => model.choose(name)} />
      <ChannelControls model={model} />
      {model.blended.value.length > 0 ? null : <Colours model={model} />}
      <div id="axes">{loaded?.others.filter((axis) => axis !== loaded.channelAxis || model.blended.value.length === 0).map((axis) => <Slider key={axis.axis.dimension} model={model} axis={axis} />)}</div>
      <MeasureControls model={model} />
      <WritesToggle />
      <PaintControls model={model} />
      <SavePicture model={model} caption={() => captionOf(model)} />
      <TakeAway lines={() => linesOf(model)} files={() => filesOf(model)} plan={async (signal) => plannedRead(model, signal)} />
    </>
  );
}

/** How values become colours. */
function Colours({ model }: { model: GridModel }) {
  return (
    <>
      <Select id="colours" label="Colour map" options={Object.keys(COLORMAPS).map((value) => ({ value, text: value }))} value={model.colormap.value} onChange={(map) => { model.colormap.value = map; }} />
      <Histogram summary={model.summary.value} range={model.range.value} isChosen={model.chosenRange.value !== undefined} onRange={(range) => { model.chosenRange.value = range; }} />
      <Scale model={model} />
    </>
  );
}

/** A slider over the positions of an axis, with the coordinate as text. */
function Slider({ model, axis }: { model: GridModel; axis: LabelledAxis }) {
  const { name, dimension } = axis.axis;
  const position = model.at.value[dimension] ?? 0;
  return (
    <label>
      <span>{name || "axis"} <output>{axis.text(position)}</output></span>
      <input type="range" min="0" max={String(axis.length - 1)} value={String(position)} aria-valuetext={axis.text(position)} onInput={(event) => model.move(axis, Number(event.currentTarget.value))} />
    </label>
  );
}

/** Whether colours run with the values or with their logarithms. */
function Scale({ model }: { model: GridModel }) {
  return <label class="check"><input id="log" type="checkbox" checked={model.log.value} onChange={(event) => { model.log.value = event.currentTarget.checked; }} /> Logarithmic colours</label>;
}

function linesOf(model: GridModel): Line[] {
  const query = model.query();
  return query ? gridLines(query) : [];
}

async function plannedRead(model: GridModel, signal: AbortSignal): Promise<string | undefined> {
  const [query, array] = [model.query(), model.loaded.peek()?.levels[0]?.array];
  return query && array && planOf(array, { ranges: query.ranges.map((span, i) => ({ ...span, name: array.dims[i]?.name ?? "" })), attribute: query.attribute }, signal);
}

function filesOf(model: GridModel): File[] {
  const [query, array] = [model.query(), model.loaded.peek()?.levels[0]?.array];
  if (!query || !array) return [];
  const loaded = model.loaded.peek();
  const files = gridFiles(query, array);
  // Channels that are drawn together would need several bands.
  if (!loaded?.y || model.blended.peek().length > 0) return files;
  const read = async () => (await import("./raster")).rasterFile(loaded, query);
  return [...files, { name: files[0]?.name.replace(/\.\w+$/, ".tif") ?? "cells.tif", label: "GeoTIFF", read }];
}
