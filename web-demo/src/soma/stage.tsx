// The map of an experiment, with the table of its observations below.
import { ScatterplotLayer } from "@deck.gl/layers";
import { useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { TablePanel } from "../table/panel";
import { nameOf } from "../table/kind";
import { DeckCanvas } from "../ui/DeckCanvas";
import type { Point } from "./lasso";
import type { SomaModel, Tool } from "./model";

export function Stage({ model }: { model: SomaModel }) {
  const isSplit = useSignal(matchMedia("(min-width: 721px)").matches);
  if (model.experiment.maps.length === 0) return <TablePanel state={model.obs} name={nameOf(model.opened)} />;
  return (
    <div class={`soma-stage${isSplit.value ? " split" : ""}`}>
      <div class="soma-map">
        <Picture model={model} />
        <Outline model={model} />
        <Tip model={model} />
        <Tools model={model} isSplit={isSplit.value} onSplit={() => (isSplit.value = !isSplit.value)} />
      </div>
      {isSplit.value ? <TablePanel state={model.obs} name={`${nameOf(model.opened)}-obs`} /> : null}
    </div>
  );
}

/** How far the pointer may move during a click, in pixels. */
const CLICK_PX = 4;

function Picture({ model }: { model: SomaModel }) {
  const layers = useComputed(() => {
    const { drawn, drawnColours } = model;
    const points = drawn.value;
    if (!points) return [];
    return [new ScatterplotLayer({
      id: "observations",
      data: { length: points.length, attributes: { getPosition: { value: points.positions, size: 2 }, getFillColor: { value: drawnColours.value, size: 4, normalized: true } } },
      radiusUnits: "pixels",
      getRadius: model.pointSize.value || sizeFor(points.length),
      stroked: false,
    })];
  });
  const label = `Map ${model.experiment.maps[model.map.value]?.name ?? ""} of ${(model.positions.value?.length ?? 0).toLocaleString("en")} observations`;
  // Where a press began: a click that moves is a drag.
  const pressed = useRef<Point>([0, 0]);
  const release = (e: PointerEvent) => {
    if (Math.hypot(e.clientX - pressed.current[0], e.clientY - pressed.current[1]) < CLICK_PX) model.reveal();
  };
  return (
    <div class="soma-picture" onPointerDown={(e) => (pressed.current = [e.clientX, e.clientY])} onPointerUp={release}>
      <DeckCanvas camera={model.camera} layers={layers.value} label={label} onPoint={(at) => model.hover(at)} onError={(error) => model.fail(error)} />
    </div>
  );
}

/** The radius of a point in pixels, so that many points leave room between them. */
export function sizeFor(points: number): number {
  return [[3000, 4], [20_000, 3], [100_000, 2], [400_000, 1.3]].find(([most]) => points <= (most as number))?.[1] ?? 0.9;
}

const TOOLS: readonly { tool: Tool; text: string; title: string }[] = [
  { tool: "move", text: "Move", title: "Drag to move the map" },
  { tool: "box", text: "Box", title: "Drag to select the observations in a box" },
  { tool: "lasso", text: "Lasso", title: "Draw around the observations to select" },
];

function Tools({ model, isSplit, onSplit }: { model: SomaModel; isSplit: boolean; onSplit(): void }) {
  return (
    <div class="soma-tools" role="toolbar" aria-label="Tools of the map">
      {TOOLS.map(({ tool, text, title }) => <button key={tool} type="button" title={title} aria-pressed={model.tool.value === tool} onClick={() => (model.tool.value = tool)}>{text}</button>)}
      <button type="button" onClick={() => model.camera.fit()}>Show all</button>
      {model.selection.value ? <button type="button" onClick={() => model.select(undefined)}>Clear selection</button> : null}
      <button type="button" aria-pressed={isSplit} onClick={onSplit}>Table</button>
    </div>
  );
}

/** Draws the outline of a selection. It covers the map while one is drawn. */
function Outline({ model }: { model: SomaModel }) {
  const outline = useSignal<readonly Point[]>([]);
  const tool = model.tool.value;
  if (tool === "move") return null;
  const at = (e: PointerEvent & { currentTarget: Element }): Point => {
    const { left, top } = e.currentTarget.getBoundingClientRect();
    return [e.clientX - left, e.clientY - top];
  };
  const end = () => {
    const drawn = outline.value;
    outline.value = [];
    if (drawn.length < 2) return model.select(undefined);
    const world = drawn.map(([x, y]): Point => model.camera.toWorld(x, y));
    const [first, last] = [world[0] as Point, world.at(-1) as Point];
    if (tool === "box") model.selectBox(first, last);
    else model.select(world);
  };
  const [from, to] = [outline.value[0], outline.value.at(-1)];
  const isBox = tool === "box" && from !== undefined && to !== undefined;
  return (
    <svg class="soma-outline" aria-hidden="true"
      onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); outline.value = [at(e)]; }}
      onPointerMove={(e) => { if (outline.value.length > 0) outline.value = [...outline.value, at(e)]; else model.hover(at(e)); }}
      onPointerUp={end} onPointerCancel={() => (outline.value = [])} onPointerLeave={() => model.hover(undefined)}>
      {isBox
        ? <rect x={Math.min(from[0], to[0])} y={Math.min(from[1], to[1])} width={Math.abs(to[0] - from[0])} height={Math.abs(to[1] - from[1])} />
        : <polygon points={outline.value.map(([x, y]) => `${x},${y}`).join(" ")} />}
    </svg>
  );
}

/** What is known of the observation under the pointer. */
function Tip({ model }: { model: SomaModel }) {
  const hovered = model.hovered.value;
  if (!hovered) return null;
  const { row, at: [x, y] } = hovered;
  const colouring = model.colouring.value;
  const groups = model.groups.value;
  const label = (values: typeof groups) => values?.labels[values.codes[row] ?? -1] ?? "(none)";
  return (
    <dl class="soma-tip" style={{ left: `${x + 14}px`, top: `${y + 14}px` }}>
      <dt>soma_joinid</dt><dd>{String(model.positions.value?.ids[row] ?? "")}</dd>
      {groups ? <><dt>{groups.name}</dt><dd>{label(groups)}</dd></> : null}
      {colouring?.kind === "numbers" ? <><dt>{colouring.name}</dt><dd>{Number.isNaN(colouring.values[row]) ? "null" : Number((colouring.values[row] ?? 0).toPrecision(6))}</dd></> : null}
    </dl>
  );
}
