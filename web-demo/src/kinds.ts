// The kinds of data, in the order in which they are asked. Each is loaded when it is first needed.
import { isGrid } from "./grid/accepts";
import type { Kind } from "./kind";
import type { Opened } from "./opened";
import { isPoints } from "./points/accepts";
import { isExperiment } from "./soma/accepts";
import { isTable } from "./table/accepts";
import { isVariants } from "./variants/accepts";

const KINDS: readonly { accepts(opened: Opened): boolean; load(): Promise<unknown> }[] = [
  { accepts: isExperiment, load: async () => (await import("./soma/kind")).soma },
  { accepts: isVariants, load: async () => (await import("./variants/kind")).variants },
  { accepts: isTable, load: async () => (await import("./table/kind")).table },
  { accepts: isGrid, load: async () => (await import("./grid/kind")).grid },
  { accepts: isPoints, load: async () => (await import("./points/kind")).points },
  { accepts: () => true, load: async () => (await import("./group/kind")).group },
];

/** The kind that draws what was opened. A group that no kind draws is shown as its members. */
export async function kindOf(opened: Opened): Promise<Kind> {
  return (await KINDS.find(({ accepts }) => accepts(opened))?.load()) as Kind;
}
