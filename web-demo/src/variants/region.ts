// Regions of a genome, and which cells of a TileDB-VCF array are records in them. Positions in the array count from 0.
import type { Columns } from "hyperslab";

/** A closed range of positions, from 0. */
export interface Place { readonly contig: string; readonly from: number; readonly to: number }

/** The largest position of the format. */
export const LAST = 2 ** 32 - 2;

/** Parses `chr1`, `chr1:1000` or `chr1:1,000-2,000`, whose positions count from 1. `undefined` if it is none of these. */
export function parseRegion(text: string): Place | undefined {
  const [, contig, from, to] = /^\s*([^\s:]+)(?::([\d,]+)(?:-([\d,]+))?)?\s*$/.exec(text) ?? [];
  if (contig === undefined) return undefined;
  const position = (digits: string) => Number(digits.replaceAll(",", "")) - 1;
  const first = from === undefined ? 0 : position(from);
  const last = to === undefined ? (from === undefined ? LAST : first) : position(to);
  return first >= 0 && first <= last && last <= LAST ? { contig, from: first, to: last } : undefined;
}

export function regionText({ contig, from, to }: Place): string {
  return from === 0 && to === LAST ? contig : `${contig}:${from + 1}-${to + 1}`;
}

/**
 * The positions at which cells of the records of a place are. A record has a cell at its start, and anchors: copies after
 * every `gap` positions. So records that reach into the place have a cell at most `gap` positions before it.
 */
export function cellRange({ from, to }: Place, gap: number): [number, number] {
  return [Math.max(0, from - gap), to];
}

/** Which cells of `cellRange` to list: one for each record that overlaps the place. */
export function recordsIn({ from, to }: Place, gap: number): (batch: Columns) => (i: number) => boolean {
  const low = Math.max(0, from - gap);
  return ({ columns }) => {
    const [start, real, end] = ["start_pos", "real_start_pos", "end_pos"].map((name) => columns[name]?.values as ArrayLike<number> | undefined);
    return (i) => {
      const [at, begins, ends] = [start?.[i] ?? 0, real?.[i] ?? start?.[i] ?? 0, end?.[i] ?? LAST];
      // Of a record that begins before all cells that are read, the first anchor stands for it.
      const isFirst = at === begins || (begins < low && at < low + gap);
      return isFirst && begins <= to && ends >= from;
    };
  };
}

/** The contigs that the header of a VCF file lists, with their lengths. */
export function contigsOf(header: string): { name: string; length: number | undefined }[] {
  return [...header.matchAll(/^##contig=<(.*)>\s*$/gm)].flatMap(([, entries = ""]) => {
    const name = /(?:^|,)ID=([^,>]+)/.exec(entries)?.[1];
    const length = Number(/(?:^|,)length=(\d+)/.exec(entries)?.[1] ?? NaN);
    return name === undefined ? [] : [{ name, length: Number.isFinite(length) ? length : undefined }];
  });
}
