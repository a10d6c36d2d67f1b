// The interface between the page and the kinds of data that it draws. Each kind has a folder of its own.
import type { ReadonlySignal } from "@preact/signals";
import type { ComponentType } from "preact";
import type { Opened } from "./opened";

/** The state of the shown array or group. Opening something, also at another time, makes a new one. */
export interface Model {
  readonly opened: Opened;
  /** The number of reads that run. */
  readonly busy: ReadonlySignal<number>;
  /** The number of reads that the page's link waits for. Without it, the link waits for all reads (`busy`). */
  readonly linking?: ReadonlySignal<number>;
  /** Why something could not be read or drawn, for the user. */
  readonly failure: ReadonlySignal<string | undefined>;
  /** The parts of the page's link that restore the state, apart from the address and the time. Reads signals. */
  link(): Record<string, string>;
  /** Aborts all reads. */
  stop(): void;
}

/** A kind of data. */
export interface Kind<M extends Model = Model> {
  /** The name of the kind, as in "shown as an image". */
  readonly name: string;
  /**
   * Makes the state of something that was opened. `link` has the state of a followed link, or what `link()` returned at
   * another time of the same place; it may come from anyone. `before` is the model at the other time.
   */
  model(opened: Opened, link: Readonly<Record<string, string>>, before: Model | undefined): M;
  /** Whether it shows what changed between the shown moment and the one in `compare.ts`. */
  readonly compares?: boolean;
  /** The controls in the side panel. */
  readonly Controls: ComponentType<{ model: M }>;
  /** The main area: fills its parent. */
  readonly Stage: ComponentType<{ model: M }>;
}
