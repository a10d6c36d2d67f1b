// Which rows are selected: sorted closed ranges that do not touch.

export type Range = readonly [number, number];

export interface Selection {
  readonly ranges: readonly Range[];
  /** The row from which Shift extends. */
  readonly anchor: number;
}

export const NONE: Selection = { ranges: [], anchor: 0 };

export function only(row: number): Selection {
  return { ranges: [[row, row]], anchor: row };
}

/** All rows from the anchor to `row`. */
export function extended({ anchor }: Selection, row: number): Selection {
  return { ranges: [[Math.min(anchor, row), Math.max(anchor, row)]], anchor };
}

export function all(rows: number): Selection {
  return rows > 0 ? { ranges: [[0, rows - 1]], anchor: 0 } : NONE;
}

/** Adds a row, or removes it. */
export function toggled({ ranges }: Selection, row: number): Selection {
  const others = ranges.flatMap(([first, last]): Range[] => {
    if (row < first || row > last) return [[first, last]];
    return [[first, row - 1] as const, [row + 1, last] as const].filter(([from, to]) => from <= to);
  });
  return { ranges: isSelected({ ranges, anchor: row }, row) ? others : merged([...others, [row, row]]), anchor: row };
}

export function isSelected({ ranges }: Selection, row: number): boolean {
  return ranges.some(([first, last]) => first <= row && row <= last);
}

export function countOf({ ranges }: Selection): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

function merged(ranges: readonly Range[]): Range[] {
  const out: [number, number][] = [];
  for (const [first, last] of [...ranges].sort(([a], [b]) => a - b)) {
    const before = out.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else out.push([first, last]);
  }
  return out;
}
