// Measures a box or a line: by dragging, or by the coordinates of its ends.
import { useSignal } from "@preact/signals";
import type { LabelledAxis } from "../axes";
import type { Loaded } from "../model";
import type { GridModel } from "../model";
import { enteredOf, positionOf } from "./positions";
import type { Shape, Tool } from "./state";

const TOOLS: readonly { value: Tool; text: string }[] = [{ value: "move", text: "Nothing" }, { value: "box", text: "A box" }, { value: "line", text: "A line" }];

export function MeasureControls({ model }: { model: GridModel }) {
  const { measure, loaded, blended } = model;
  const { tool, shape } = measure;
  if (!loaded.value) return null;
  const choose = (value: Tool) => {
    tool.value = value;
    if (value === "move" || shape.peek()?.kind !== value) measure.clear();
  };
  const kind = shape.value?.kind ?? (tool.value === "move" ? undefined : tool.value);
  return (
    <fieldset id="measure">
      <legend>Measure</legend>
      <div class="row" role="radiogroup" aria-label="What dragging measures">
        {TOOLS.map(({ value, text }) => <label key={value} class="check"><input type="radio" name="measure" value={value} checked={tool.value === value} onChange={() => choose(value)} /> {text}</label>)}
      </div>
      {blended.value.length > 0 ? <p class="note">To measure a channel, show only that channel.</p> : <p class="note">Drag over the picture; with Shift, dragging always measures a box.</p>}
      {kind ? <Fields key={JSON.stringify(shape.value ?? kind)} kind={kind} loaded={loaded.value} shape={shape.value} onShape={(entered) => { shape.value = entered; }} /> : null}
    </fieldset>
  );
}

interface FieldsProps { kind: Shape["kind"]; loaded: Loaded; shape: Shape | undefined; onShape(shape: Shape): void }

/** The fields for the ends of a box or a line. */
function Fields({ kind, loaded: { x, y }, shape, onShape }: FieldsProps) {
  const wrong = useSignal("");
  const [from, to] = endsOf(shape);
  const axes = [x, ...(y ? [y] : [])];
  const apply = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const read = (axis: LabelledAxis, end: string) => positionOf(axis, String(form.get(`${axis.axis.dimension} ${end}`) ?? ""));
    const ends = ["from", "to"].map((end) => [read(x, end), y ? read(y, end) : 0] as const);
    const [[c0, r0] = [], [c1, r1] = []] = ends;
    if (c0 === undefined || r0 === undefined || c1 === undefined || r1 === undefined) {
      wrong.value = `Enter a number in each field: coordinates of ${axes.map(({ axis }) => axis.name).join(" and ")}.`;
      return;
    }
    wrong.value = "";
    onShape(kind === "line" ? { kind, from: [c0, r0], to: [c1, r1] } : { kind, box: { c0: Math.min(c0, c1), c1: Math.max(c0, c1), r0: Math.min(r0, r1), r1: Math.max(r0, r1) } });
  };
  return (
    <form onSubmit={apply}>
      {axes.map((axis, i) => (
        <div class="row" key={axis.axis.dimension}>
          {([["from", from], ["to", to]] as const).map(([end, cell]) => (
            <label key={end}>{`${axis.axis.name || axis.axis.dimension} ${end}`} <input type="text" inputMode="decimal" name={`${axis.axis.dimension} ${end}`} value={cell ? enteredOf(axis, cell[i] ?? 0) : ""} /></label>
          ))}
        </div>
      ))}
      <button type="submit">{kind === "box" ? "Measure the box" : "Measure the line"}</button>
      <p role="alert" class="note">{wrong.value}</p>
    </form>
  );
}

/** The first and the last column and row of a shape. */
function endsOf(shape: Shape | undefined) {
  if (!shape) return [undefined, undefined] as const;
  return shape.kind === "line" ? [shape.from, shape.to] as const : [[shape.box.c0, shape.box.r0], [shape.box.c1, shape.box.r1]] as const;
}
