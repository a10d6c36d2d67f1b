// Which rows were added, removed or changed between two moments.

/** Rows as text, exact, in the same columns at both moments. */
export interface RowTexts {
  readonly length: number;
  at(row: number): readonly string[];
}

/** What happened to a row. */
export interface RowChange {
  readonly kind: "added" | "removed" | "changed";
  readonly before: readonly string[] | undefined;
  readonly after: readonly string[] | undefined;
}

/**
 * Compares rows whose first `keys` columns identify them. Several rows may have one key: those that are equal cancel each
 * other out, and the others were removed and added, unless one is left at each moment.
 */
export function changesOf(before: RowTexts, after: RowTexts, keys: number): RowChange[] {
  const rest = byKey(before, keys);
  const found: RowChange[] = [];
  for (const [key, rows] of byKey(after, keys)) {
    const old = rest.get(key) ?? [];
    rest.delete(key);
    const counts = new Map<string, number>();
    for (const row of old) count(counts, row, 1);
    const added = rows.filter((row) => !take(counts, row));
    const removed = old.filter((row) => take(counts, row));
    const [from, to] = [removed[0], added[0]];
    if (removed.length === 1 && added.length === 1 && from && to) found.push({ kind: "changed", before: from, after: to });
    else {
      found.push(...added.map((row): RowChange => ({ kind: "added", before: undefined, after: row })));
      found.push(...removed.map((row): RowChange => ({ kind: "removed", before: row, after: undefined })));
    }
  }
  for (const rows of rest.values()) found.push(...rows.map((row): RowChange => ({ kind: "removed", before: row, after: undefined })));
  return found;
}

/** The rows of each key, in their order. */
function byKey(rows: RowTexts, keys: number): Map<string, (readonly string[])[]> {
  const found = new Map<string, (readonly string[])[]>();
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows.at(i);
    const key = JSON.stringify(row.slice(0, keys));
    const others = found.get(key);
    if (others) others.push(row);
    else found.set(key, [row]);
  }
  return found;
}

function count(counts: Map<string, number>, row: readonly string[], by: number): void {
  const name = JSON.stringify(row);
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Takes one of the equal rows, if any is left. */
function take(counts: Map<string, number>, row: readonly string[]): boolean {
  if ((counts.get(JSON.stringify(row)) ?? 0) <= 0) return false;
  count(counts, row, -1);
  return true;
}
