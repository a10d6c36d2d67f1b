// Fragments by the time of their writes: groups that a strip can show, and the one that a cell came from.
import type { Extreme, FragmentInfo } from "hyperslab";
import * as text from "../text";

/** Neighbouring fragments that share a mark on the strip. */
export interface Group {
  /** The indices of the first and the last one, oldest first. */
  readonly first: number;
  readonly last: number;
  /** Where the mark is, from 0 to 1. */
  readonly place: number;
  readonly cells: number;
}

/** The most marks on the strip. */
export const GROUPS_MAX = 201;

/** Groups of fragments that are sorted by their ends. The strip spans the times from `start` to `end`. */
export function groupsOf(fragments: readonly FragmentInfo[], start: number, end: number): Group[] {
  const groups: { first: number; last: number; place: number; cells: number }[] = [];
  fragments.forEach((fragment, i) => {
    const part = end > start ? Math.max(0, Math.min(1, (fragment.end - start) / (end - start))) : 0.5;
    const place = Math.round(part * (GROUPS_MAX - 1)) / (GROUPS_MAX - 1);
    const before = groups.at(-1);
    if (before?.place === place) {
      before.last = i;
      before.cells += fragment.cells;
    } else groups.push({ first: i, last: i, place, cells: fragment.cells });
  });
  return groups;
}

/** The group whose mark is nearest to a place. */
export function nearest(groups: readonly Group[], place: number): Group | undefined {
  return groups.reduce<Group | undefined>((best, group) => (best && Math.abs(best.place - place) <= Math.abs(group.place - place) ? best : group), undefined);
}

/** What fragments are: their times, cells and sizes. `of`: how many there are in all. */
export function groupText(fragments: readonly FragmentInfo[], { first, last }: Pick<Group, "first" | "last">, of: number): string {
  const chosen = fragments.slice(first, last + 1);
  const sum = (part: "cells" | "bytes") => chosen.reduce((total, fragment) => total + Number(fragment[part]), 0);
  const [start, end] = [chosen.reduce((least, fragment) => Math.min(least, fragment.start), Infinity), chosen.reduce((most, fragment) => Math.max(most, fragment.end), -Infinity)];
  const which = first === last ? `Write ${first + 1} of ${of.toLocaleString("en")}` : `${(last - first + 1).toLocaleString("en")} writes of ${of.toLocaleString("en")}`;
  const merged = first === last && start < end ? ", merged from several" : "";
  return `${which}${merged}: ${text.moment(start)}${start < end ? ` to ${text.moment(end)}` : ""}, ${sum("cells").toLocaleString("en")} cells, ${text.bytes(sum("bytes"))}`;
}

/** The newest fragment whose box holds a cell, as its index. Fragments are sorted, oldest first. */
export function originOf(fragments: readonly FragmentInfo[], cell: readonly Extreme[]): number | undefined {
  const index = fragments.findLastIndex(({ nonEmptyDomain }) => nonEmptyDomain?.every(([low, high], i) => {
    const coordinate = cell[i];
    return coordinate !== undefined && low <= coordinate && coordinate <= high;
  }));
  return index < 0 ? undefined : index;
}

/**
 * Where the cell under the pointer came from. A dense write has all cells of its box, a sparse one only some. `fragments`
 * are in the order in which they are read, `sorted` has them as the strip counts them.
 */
export function originText(fragments: readonly FragmentInfo[], sorted: readonly FragmentInfo[], cell: readonly Extreme[]): string {
  const index = originOf(fragments, cell);
  const fragment = index === undefined ? undefined : fragments[index];
  if (!fragment) return "Under the pointer: never written";
  const { start, end, dense } = fragment;
  const when = start < end ? `in a merge of writes from ${text.moment(start)} to ${text.moment(end)}` : `at ${text.moment(end)}`;
  const which = `${when} (write ${sorted.indexOf(fragment) + 1})`;
  return dense ? `Under the pointer: written ${which}` : `Under the pointer: the newest write whose box contains it was made ${which}`;
}
