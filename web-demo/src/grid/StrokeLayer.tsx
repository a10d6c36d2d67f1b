// Takes the pointer while the user paints, and shows the cells of the stroke until they are written.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { GridModel } from "./model";
import { Stroke } from "./paint";

export function StrokeLayer({ model }: { model: GridModel }) {
  const stroke = useRef<{ cells: Stroke; last: [number, number] } | undefined>(undefined);
  const path = useSignal("");
  const loaded = model.loaded.value;
  const { camera, brush } = model;
  if (!loaded || !brush.value.isOn || model.blended.value.length > 0 || model.opened.at !== undefined) return null;
  const { width, height } = camera.size.value;
  const { aspect } = loaded.placement;
  const at = (event: PointerEvent): [number, number] => {
    const [x, y] = camera.toWorld(event.offsetX, event.offsetY);
    return [x, y / aspect];
  };
  const draw = (cells: Stroke) => {
    path.value = cells.covered().map(([column, row]) => {
      const [[x0, y0], [x1, y1]] = [camera.toScreen(column, row * aspect), camera.toScreen(column + 1, (row + 1) * aspect)];
      return `M${x0} ${y0}H${x1}V${y1}H${x0}Z`;
    }).join("");
  };
  const begin = (event: PointerEvent & { currentTarget: Element }) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    const cells = new Stroke(loaded.x.length, loaded.y?.length ?? 1);
    cells.cover(at(event), brush.value.size, undefined);
    stroke.current = { cells, last: at(event) };
    draw(cells);
  };
  const go = (event: PointerEvent) => {
    model.pointer.value = [event.offsetX, event.offsetY];
    if (!stroke.current) return;
    stroke.current.cells.cover(at(event), brush.value.size, stroke.current.last);
    stroke.current.last = at(event);
    draw(stroke.current.cells);
  };
  const end = async () => {
    const cells = stroke.current?.cells;
    stroke.current = undefined;
    if (cells) await model.paint(cells);
    path.value = "";
  };
  return (
    <svg id="stroke" viewBox={`0 0 ${width} ${height}`} onPointerDown={begin} onPointerMove={go} onPointerUp={() => void end()} onPointerCancel={() => { stroke.current = undefined; path.value = ""; }}>
      <path d={path.value} />
    </svg>
  );
}
