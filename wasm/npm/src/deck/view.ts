// The part of an array in a viewport.
import type { Viewport } from "@deck.gl/core";
import { image, intersection, toWorld, type Place, type Rect } from "./place.js";

/** A copy of the array on a map, turned around the globe by some degrees, and the part of the cells that it shows. */
export interface Turn {
  readonly degrees: number;
  readonly clip: Rect;
}

/**
 * The copies that draw the array between longitudes -180 and 180, where maps show it. Arrays with longitudes from 0 to 360
 * need two.
 */
export function turnsOf(viewport: Viewport, place: Place, inverted: Place, extent: Rect): Turn[] {
  const { x0, x1 } = image(place, extent);
  const isInside = x0 >= -180 - 1e-9 && x1 <= 180 + 1e-9;
  if (!viewport.isGeospatial || isInside || place[1] !== 0 || place[3] !== 0) return [{ degrees: 0, clip: extent }];
  return [0, -360, 360].flatMap((degrees) => {
    const world = intersection({ x0, x1, y0: -1, y1: 1 }, { x0: -180 - degrees, x1: 180 - degrees, y0: -1, y1: 1 });
    if (!world) return [];
    const columns = [toWorld(inverted, world.x0, 0)[0], toWorld(inverted, world.x1, 0)[0]];
    const clip = intersection(extent, { ...extent, x0: Math.min(...columns), x1: Math.max(...columns) });
    return clip ? [{ degrees, clip }] : [];
  });
}

/** The visible parts of the array, in cells of the finest level. */
export function seenOf(viewport: Viewport, inverted: Place, turns: readonly Turn[]): Rect[] {
  const [x0, y0, x1, y1] = viewport.getBounds();
  const isRepeated = (viewport.subViewports?.length ?? 0) > 1;
  const copies = isRepeated ? [0, -360, 360] : [0];
  return turns.flatMap(({ degrees, clip }) => copies.flatMap((copy) => {
    const part = intersection(clip, image(inverted, { x0: x0 - degrees - copy, x1: x1 - degrees - copy, y0, y1 }));
    return part ? [part] : [];
  }));
}

/** Cells of the finest level per pixel of the screen at the centre of the view, along x and y. `ratio` is that of device pixels. */
export function cellsPerPixel(viewport: Viewport, inverted: Place, ratio: number): [number, number] {
  const [x, y] = [viewport.width / 2, viewport.height / 2];
  const at = (dx: number, dy: number) => {
    const [worldX = 0, worldY = 0] = viewport.unproject([x + dx, y + dy]);
    return toWorld(inverted, worldX, worldY);
  };
  const [centre, right, below] = [at(0, 0), at(1, 0), at(0, 1)];
  const along = (axis: 0 | 1) => Math.hypot(right[axis] - centre[axis], below[axis] - centre[axis]) / ratio;
  return [along(0), along(1)];
}

/** The centre of the view, in cells of the finest level. */
export function centreOf(viewport: Viewport, inverted: Place): [number, number] {
  const [x = 0, y = 0] = viewport.unproject([viewport.width / 2, viewport.height / 2]);
  return toWorld(inverted, x, y);
}
