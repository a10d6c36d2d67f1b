// Takes the pointer while the user paints, and shows the cells of the stroke until they are written.
import { useRef } from "preact/hooks";
import { canEdit } from "../edit/editable";
import { messageOf } from "../session";
import type { GridModel } from "./model";
import { Stroke, strokeMax } from "./paint";

export function StrokeLayer({ model }: { model: GridModel }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stroke = useRef<{ cells: Stroke; last: [number, number] } | undefined>(undefined);
  const loaded = model.loaded.value;
  const { camera, brush } = model;
  const { width, height } = camera.size.value;
  if (!loaded || brush.value.tool === "move" || !canEdit(model.opened) || model.blended.value.length > 0 || model.opened.at !== undefined) return null;
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
    // A second finger must not replace the stroke of the first finger.
    if (event.button !== 0 || !event.isPrimary) return;
    const cell = model.cellAt([event.offsetX, event.offsetY]);
    if (brush.value.tool !== "paint") {
      if (cell && brush.value.tool === "fill") void model.paint(cell);
      else if (cell) model.edit(cell);
      return;
    }
    event.currentTarget.setPointerCapture(event.pointerId);
    stroke.current = { cells: new Stroke(loaded.x.length, loaded.y?.length ?? 1, strokeMax(loaded)), last: at(event) };
    cover(event);
  };
  const go = (event: PointerEvent) => {
    if (!event.isPrimary) return;
    model.pointer.value = [event.offsetX, event.offsetY];
    cover(event);
  };
  const end = async (problem?: string) => {
    const cells = stroke.current?.cells;
    stroke.current = undefined;
    if (cells) await model.paint(cells, problem);
    if (!stroke.current) drop();
  };
  const drop = () => {
    stroke.current = undefined;
    canvas.current?.getContext("2d")?.clearRect(0, 0, width, height);
  };
  const chosen = brush.value.tool === "cell" ? model.edited.value : undefined;
  return (
    <>
      {chosen ? <Chosen model={model} cell={chosen} aspect={aspect} /> : null}
      <canvas id="stroke" ref={canvas} width={width} height={height} onPointerDown={begin} onPointerMove={go} onPointerUp={(event) => { if (event.isPrimary) void end(); }} onPointerCancel={(event) => { if (event.isPrimary) drop(); }} />
    </>
  );
}

/** A frame around the cell that is edited. */
function Chosen({ model: { camera }, cell: [column, row], aspect }: { model: GridModel; cell: readonly [number, number]; aspect: number }) {
  const [[x0, y0], [x1, y1]] = [camera.toScreen(column, row * aspect), camera.toScreen(column + 1, (row + 1) * aspect)];
  return <div id="chosen" style={{ left: `${x0}px`, top: `${Math.min(y0, y1)}px`, width: `${x1 - x0}px`, height: `${Math.abs(y1 - y0)}px` }} />;
}
