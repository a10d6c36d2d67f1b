// Groups that no other kind draws, and arrays that cannot be drawn: their members or the reason.
import { signal } from "@preact/signals";
import type { Kind, Model } from "../kind";
import { arrayOf, type Opened } from "../opened";
import { Controls, Stage } from "./Stage";

/** Nothing to choose: the members are links. */
export class GroupModel implements Model {
  readonly busy = signal(0);
  readonly failure;

  constructor(readonly opened: Opened) {
    this.failure = signal(arrayOf(opened) ? undrawable(opened) : undefined);
  }

  link(): Record<string, string> {
    return {};
  }

  stop(): void {
    // There are no reads.
  }
}

export const group: Kind<GroupModel> = {
  name: "group",
  model: (opened) => new GroupModel(opened),
  Controls,
  Stage,
};

/** Why an array cannot be drawn. */
function undrawable(opened: Opened): string {
  if (arrayOf(opened)?.kind === "dense") return "This array cannot be drawn: no attribute has one number per cell. Open another array, or export this one with `hyperslab export`.";
  return "This array cannot be drawn: no dimension is a number or a date. Open another array, or export this one with `hyperslab export`.";
}
