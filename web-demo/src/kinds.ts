// The kinds of data, in the order in which they are asked.
import { grid } from "./grid/kind";
import { group } from "./group/kind";
import type { Kind } from "./kind";
import type { Opened } from "./opened";
import { points } from "./points/kind";
import { soma } from "./soma/kind";
import { table } from "./table/kind";
import { variants } from "./variants/kind";

const KINDS = [soma, variants, table, grid, points] as const;

/** The kind that draws what was opened. A group that no kind draws is shown as its members. */
export function kindOf(opened: Opened): Kind {
  return (KINDS.find((kind) => kind.accepts(opened)) ?? group) as Kind;
}
