// The texts around a saved picture of points.
import { colorsOf } from "../colors";
import { roundUp } from "../grid/ticks";
import * as text from "../text";
import type { Caption, Tick } from "../ui/picture";
import type { PointsModel } from "./model";

/** The least distance between neighbouring texts along an axis, in pixels. */
const APART_PX = 110;

/** The caption of the current picture. */
export function captionOf(model: PointsModel): Omit<Caption, "sources"> & { name: string } {
  const { opened, chosen, colormap, range, where, count, x, y, camera, aspect } = model;
  const name = chosen.peek();
  const shown = (value: number) => model.shown(name, /int64|time/.test(model.typeOf(name)) ? BigInt(Math.round(value)) : value);
  const [low, high] = range.peek();
  const { read, limited } = count.peek();
  const visible = camera.visible.peek();
  return {
    name: (opened.dataset.name || opened.place.path || opened.place.url).split("/").filter(Boolean).at(-1)?.replace(/[^\p{L}\p{N}._-]+/gu, "_") ?? "points",
    title: opened.dataset.title || opened.dataset.name || (opened.place.path || opened.place.url).split("/").filter(Boolean).at(-1) || "Points",
    lines: [`${read.toLocaleString("en")} points${limited ? " (others are not drawn)" : ""} by ${x} and ${y}`, where.peek() ? `Where ${where.peek()}` : ""],
    scale: low <= high ? { title: name || "value", colormap: colorsOf(colormap.peek()), low: shown(low), high: shown(high) } : undefined,
    ticks: {
      x: ticksOf(model, x, visible.x).map(({ value, text: label }): Tick => ({ at: camera.toScreen(value, 0)[0], text: label })),
      y: ticksOf(model, y, [visible.y[0] / aspect.peek(), visible.y[1] / aspect.peek()]).map(({ value, text: label }): Tick => ({ at: camera.toScreen(0, value * aspect.peek())[1], text: label })),
    },
  };
}

/** Round coordinates of a dimension in a range. */
function ticksOf(model: PointsModel, name: string, [from, to]: readonly [number, number]): { value: number; text: string }[] {
  const { width, height } = model.camera.size.peek();
  const step = roundUp(((to - from) * APART_PX) / (name === model.x ? width : height));
  const isDate = /^(date)?time_/.test(model.typeOf(name));
  const first = Math.ceil(from / step);
  const count = Math.max(0, Math.min(40, Math.floor(to / step) - first + 1));
  return Array.from({ length: count }, (_, i) => {
    const value = (first + i) * step;
    return { value, text: isDate ? model.shown(name, BigInt(Math.round(value))) : text.number(Number(value.toPrecision(12))) };
  });
}
