// Flood fill: finds the cells that are connected to a cell and have its value.

/** The most cells that are filled at once. */
export const FILL_MAX = 1_000_000;

/**
 * The cells that are like a cell and connected to it by their sides, as `row · width + column`. Fails if there are more
 * than `FILL_MAX`.
 */
export function connected(width: number, height: number, start: number, isLike: (cell: number) => boolean): number[] {
  const isSeen = new Uint8Array(width * height);
  const found = [start];
  isSeen[start] = 1;
  // The list grows while it is walked.
  for (let i = 0; i < found.length; i += 1) {
    const cell = found[i] ?? 0;
    const column = cell % width;
    for (const next of [column > 0 ? cell - 1 : -1, column < width - 1 ? cell + 1 : -1, cell - width, cell + width]) {
      if (next < 0 || next >= isSeen.length || isSeen[next] || !isLike(next)) continue;
      isSeen[next] = 1;
      if (found.push(next) > FILL_MAX) throw new Error(`More than ${FILL_MAX.toLocaleString("en")} connected cells in view have this value, which is too many to fill at once. Zoom in and fill them in parts.`);
    }
  }
  return found;
}

/** Whether two stored cells are alike: both null, both NaN, or equal. */
export function areAlike(data: ArrayLike<number | bigint>, validity: ArrayLike<number> | undefined, a: number, b: number): boolean {
  const [isNull, isOther] = [validity?.[a] === 0, validity?.[b] === 0];
  return isNull || isOther ? isNull === isOther : data[a] === data[b] || (Number.isNaN(data[a]) && Number.isNaN(data[b]));
}
