// Shows the box or the line that is measured, and lets the user draw it.
import { useEffect, useRef } from "preact/hooks";
import type { GridModel } from "../model";
import { cellsOf, type Cell } from "./line";
import type { Shape } from "./state";

export function MeasureLayer({ model }: { model: GridModel }) {
  const { measure, camera } = model;
  const loaded = model.loaded.value;
  const layer = useRef<SVGSVGElement>(null);
  const canMeasure = model.blended.value.length === 0 && model.brush.value.tool === "move";
  const tool = canMeasure ? measure.tool.value : "move";
  useEffect(() => {
    const area = layer.current?.parentElement;
    const press = (event: PointerEvent) => {
      if (event.button !== 0 || !(event.target instanceof Element) || event.target.id !== "picture") return;
      const kind = event.shiftKey ? "box" : tool;
      if (!canMeasure || kind === "move") return;
      event.stopPropagation();
      event.preventDefault();
      draw(model, kind, layer.current as SVGSVGElement, event);
    };
    // Before the picture takes the pointer to move.
    area?.addEventListener("pointerdown", press, { capture: true });
    return () => area?.removeEventListener("pointerdown", press, { capture: true });
  }, [model, tool, canMeasure, loaded]);
  const { width, height } = camera.size.value;
  void camera.state.value;
  const { path, mark } = loaded ? outlineOf(model, measure.shape.value, loaded.placement.aspect) : { path: "", mark: undefined };
  return (
    <svg id="measured" class="outline" ref={layer} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <path class="halo" d={path} /><path d={path} />
      {mark ? <circle cx={mark[0]} cy={mark[1]} r={5} /> : null}
    </svg>
  );
}

/** Follows the pointer from where it was pressed. */
function draw({ measure, loaded, camera }: GridModel, kind: Shape["kind"], layer: SVGSVGElement, pressed: PointerEvent): void {
  const now = loaded.peek();
  if (!now) return;
  const [columns, rows] = [now.x.length, now.y?.length ?? 1];
  const cellAt = ({ clientX, clientY }: PointerEvent): Cell => {
    const { left, top } = layer.getBoundingClientRect();
    const [x, y] = camera.toWorld(clientX - left, clientY - top);
    return [Math.max(0, Math.min(columns - 1, Math.floor(x))), Math.max(0, Math.min(rows - 1, Math.floor(y / now.placement.aspect)))];
  };
  const from = cellAt(pressed);
  const go = (event: PointerEvent) => {
    const to = cellAt(event);
    measure.shape.value = kind === "line" ? { kind, from, to } : { kind, box: { c0: Math.min(from[0], to[0]), c1: Math.max(from[0], to[0]), r0: Math.min(from[1], to[1]), r1: Math.max(from[1], to[1]) } };
  };
  const end = () => {
    removeEventListener("pointermove", go);
    removeEventListener("pointerup", end);
    removeEventListener("pointercancel", end);
  };
  addEventListener("pointermove", go);
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
  go(pressed);
}

/** The path of a shape in pixels, and the place that is marked in its chart. */
function outlineOf({ camera, measure }: GridModel, shape: Shape | undefined, aspect: number): { path: string; mark: [number, number] | undefined } {
  if (!shape) return { path: "", mark: undefined };
  const at = (column: number, row: number) => camera.toScreen(column, row * aspect);
  if (shape.kind === "line") {
    const [a, b] = [shape.from, shape.to].map(([column, row]) => at(column + 0.5, row + 0.5)) as [[number, number], [number, number]];
    const marked = measure.marked.value;
    const cell = marked === undefined ? undefined : cellsOf(shape.from, shape.to)[marked];
    return { path: `M${a.join(" ")}L${b.join(" ")}`, mark: cell && at(cell[0] + 0.5, cell[1] + 0.5) };
  }
  const { c0, c1, r0, r1 } = shape.box;
  const [[x0, y0], [x1, y1]] = [at(c0, r0), at(c1 + 1, r1 + 1)];
  return { path: `M${x0} ${y0}H${x1}V${y1}H${x0}Z`, mark: undefined };
}
