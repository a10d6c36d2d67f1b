// The tools that edit cells: a brush, a fill, and a value for one cell.
import { EditPanel } from "../edit/EditPanel";
import type { LabelledAxis } from "./axes";
import type { GridModel, Tool } from "./model";
import { lastOf, Stroke } from "./paint";

const TOOLS: readonly { tool: Tool; id: string; text: string }[] = [
  { tool: "move", id: "move", text: "Move the picture" },
  { tool: "paint", id: "paint", text: "Paint by dragging" },
  { tool: "fill", id: "fill-cells", text: "Fill connected cells of equal value in view" },
  { tool: "cell", id: "one-cell", text: "Set one cell" },
];

export function PaintControls({ model }: { model: GridModel }) {
  const { brush, opened } = model;
  const isBlended = model.blended.value.length > 0;
  const change = (part: Partial<typeof brush.value>) => { brush.value = { ...brush.value, ...part }; };
  const { tool, value, size } = brush.value;
  return (
    <EditPanel key={opened.place} model={model} array={model.loaded.value?.levels[0]?.array}>
      {isBlended ? <p class="note">To edit a channel, show only that channel.</p> : null}
      {TOOLS.map((choice) => (
        <label class="check" key={choice.id}><input id={choice.id} type="radio" name="tool" checked={tool === choice.tool} disabled={opened.at !== undefined || isBlended} onChange={() => change({ tool: choice.tool })} /> {choice.text}</label>
      ))}
      {tool === "cell" ? <CellForm model={model} /> : null}
      {tool === "cell" ? null : (
        <div class="row">
          <label>Value <input id="paint-value" type="text" inputMode="decimal" value={value} onInput={(event) => change({ value: event.currentTarget.value })} /></label>
          {tool !== "fill" ? <label>Brush <input id="paint-size" type="number" min="1" max="200" value={String(size)} onChange={(event) => change({ size: Math.max(1, Math.min(200, Math.round(Number(event.currentTarget.value)) || 1)) })} /></label> : null}
        </div>
      )}
    </EditPanel>
  );
}

/** A form for the coordinates and the new value of a cell. Clicking a cell also enters its coordinates. */
function CellForm({ model }: { model: GridModel }) {
  const loaded = model.loaded.value;
  if (!loaded) return null;
  const { x, y } = loaded;
  const [column, row] = model.edited.value ?? [0, 0];
  const wrong = model.wrongCoordinates.value;
  const go = (axis: LabelledAxis, entered: string) => {
    const { [axis.axis.dimension]: _, ...others } = model.wrongCoordinates.peek();
    const position = positionOf(axis, entered);
    model.wrongCoordinates.value = position === undefined ? { ...others, [axis.axis.dimension]: entered } : others;
    const [atColumn, atRow] = model.edited.peek() ?? [0, 0];
    if (position !== undefined) model.edited.value = axis === x ? [position, atRow] : [atColumn, position];
  };
  // The Enter key may have changed the coordinates just before.
  const cell = () => (Object.keys(model.wrongCoordinates.peek()).length > 0 ? undefined : model.edited.peek() ?? [0, 0] as const);
  const write = (event: Event) => {
    event.preventDefault();
    const at = cell();
    const stroke = new Stroke(x.length, y?.length ?? 1);
    if (at && stroke.add(...at)) void model.paint(stroke);
  };
  const fill = () => {
    const at = cell();
    if (at) void model.paint(at);
  };
  return (
    <form class="row wrap" onSubmit={write}>
      {(y ? [y, x] : [x]).map((axis) => (
        <label key={axis.axis.dimension}>{axis.axis.dimension} <input type="text" inputMode="decimal" aria-label={`Coordinate along ${axis.axis.dimension}`} value={wrong[axis.axis.dimension] ?? String(axis.coordinate(axis === x ? column : row))} onChange={(event) => go(axis, event.currentTarget.value)} /></label>
      ))}
      <label>Value <input id="cell-value" type="text" inputMode="decimal" value={model.brush.value.value} onInput={(event) => { model.brush.value = { ...model.brush.value, value: event.currentTarget.value }; }} /></label>
      <button type="submit" class="plain">Write</button>
      <button type="button" class="plain" title="Write the value also into the connected cells in view that are equal to this one" onClick={fill}>Fill from here</button>
      {(y ? [y, x] : [x]).flatMap((axis) => (wrong[axis.axis.dimension] === undefined ? [] : [<p key={axis.axis.dimension} role="alert">{`${axis.axis.dimension}: '${wrong[axis.axis.dimension]}' is not a coordinate. Enter an integer from ${axis.coordinate(0)} to ${lastOf(axis, axis.length - 1)}.`}</p>]))}
    </form>
  );
}

/** The position of an entered coordinate along an axis. `undefined` if the axis has no such coordinate. */
function positionOf(axis: LabelledAxis, entered: string): number | undefined {
  if (!/^\s*-?\d+\s*$/.test(entered)) return undefined;
  const position = Math.floor(Number(BigInt(entered) - BigInt(axis.coordinate(0))) / (axis.axis.stride ?? 1));
  return position >= 0 && position < axis.length ? position : undefined;
}
