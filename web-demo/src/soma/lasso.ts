// Selects points in an outline.

export type Point = readonly [number, number];

/** The rows whose points (x, y, x, y, …) lie in an outline and are shown. */
export function inOutline(positions: Float32Array, outline: readonly Point[], isShown: (row: number) => boolean): Uint32Array {
  const xs = outline.map(([x]) => x);
  const ys = outline.map(([, y]) => y);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const found: number[] = [];
  for (let row = 0; row < positions.length / 2; row += 1) {
    const [x, y] = [positions[row * 2] ?? NaN, positions[row * 2 + 1] ?? NaN];
    // NaN fails each comparison.
    if (x >= x0 && x <= x1 && y >= y0 && y <= y1 && isShown(row) && isInside(outline, x, y)) found.push(row);
  }
  return Uint32Array.from(found);
}

/** Whether a point lies in an outline: a line from it to the right crosses the outline an odd number of times. */
export function isInside(outline: readonly Point[], x: number, y: number): boolean {
  let inside = false;
  let [px, py] = outline.at(-1) ?? [0, 0];
  for (const [cx, cy] of outline) {
    if (cy > y !== py > y && x < ((px - cx) * (y - cy)) / (py - cy) + cx) inside = !inside;
    [px, py] = [cx, cy];
  }
  return inside;
}

export function box([ax, ay]: Point, [bx, by]: Point): Point[] {
  return [[ax, ay], [bx, ay], [bx, by], [ax, by]];
}
