// Takes the pointer while the user paints, and shows the cells of the stroke until they are written.
import { useRef } from "preact/hooks";
import { messageOf } from "../session";
import type { GridModel } from "./model";
import { Stroke } from "./paint";

export function StrokeLayer({ model }: { model: GridModel }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stroke = useRef<{ cells: Stroke; last: [number, number] } | undefined>(undefined);
  const loaded = model.loaded.value;
  const { camera, brush } = model;
  const { width, height } = camera.size.value;
  if (!loaded || !brush.value.isOn || model.blended.value.length > 0 || model.opened.at !== undefined) return null;
  const { aspect } = loaded.placement;
  const at = (event: PointerEvent): [number, number] => {
    const [x, y] = camera.toWorld(event.offsetX, event.offsetY);
    return [x, y / aspect];
  };
  /** Covers cells up to the pointer, and draws those that are new. */
  const cover = (event: PointerEvent) => {
    const now = stroke.current;
    const g = canvas.current?.getContext("2d");
    if (!now || !g || !canvas.current) return;
    const place = at(event);
    try {
      g.fillStyle = getComputedStyle(canvas.current).color;
      for (const [column, row] of now.cells.cover(place, brush.value.size, now.last)) {
        const [[x0, y0], [x1, y1]] = [camera.toScreen(column, row * aspect), camera.toScreen(column + 1, (row + 1) * aspect)];
        g.fillRect(x0, Math.min(y0, y1), x1 - x0, Math.abs(y1 - y0));
      }
      now.last = place;
    } catch (error) {
      void end(messageOf(error));
    }
  };
  const begin = (event: PointerEvent & { currentTarget: Element }) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    stroke.current = { cells: new Stroke(loaded.x.length, loaded.y?.length ?? 1), last: at(event) };
    cover(event);
  };
  const go = (event: PointerEvent) => {
    model.pointer.value = [event.offsetX, event.offsetY];
    cover(event);
  };
  const end = async (problem?: string) => {
    const cells = stroke.current?.cells;
    stroke.current = undefined;
    if (cells) await model.paint(cells, problem);
    if (!stroke.current) canvas.current?.getContext("2d")?.clearRect(0, 0, width, height);
  };
  return <canvas id="stroke" ref={canvas} width={width} height={height} onPointerDown={begin} onPointerMove={go} onPointerUp={() => void end()} onPointerCancel={() => { stroke.current = undefined; canvas.current?.getContext("2d")?.clearRect(0, 0, width, height); }} />;
}
