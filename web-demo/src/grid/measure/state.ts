// A measured box or line of a picture, and the results.
import { batch, effect, signal, type ReadonlySignal } from "@preact/signals";
import { common, sizeOf, type Box } from "../cells";
import type { Link } from "../../link";
import type { Opened } from "../../opened";
import type { Loaded } from "../model";
import type { Series } from "../series";
import { measureBox } from "./box";
import { measureLine, type Cell } from "./line";
import type { Statistics } from "./totals";

/** The effect of dragging. */
export type Tool = "move" | "box" | "line";

/** A measured box or line. A line has its ends. */
export type Shape = { readonly kind: "box"; readonly box: Box } | { readonly kind: "line"; readonly from: Cell; readonly to: Cell };

/** The state of the picture. */
interface Shown {
  readonly opened: Opened;
  readonly loaded: ReadonlySignal<Loaded | undefined>;
  readonly at: ReadonlySignal<Readonly<Record<string, number>>>;
}

/** How long a shape must rest before it is measured. */
const REST_MS = 150;

export class Measure {
  readonly tool = signal<Tool>("move");
  readonly shape = signal<Shape | undefined>(undefined);
  readonly statistics = signal<Statistics | undefined>(undefined);
  readonly series = signal<Series | undefined>(undefined);
  /** Cells that were read, of all. `undefined`: none is being read. */
  readonly progress = signal<{ done: number; of: number } | undefined>(undefined);
  readonly failure = signal<string | undefined>(undefined);
  /** Whether the user has stopped the measurement. */
  readonly isStopped = signal(false);
  /** The place on the line that is under the pointer in its chart. */
  readonly marked = signal<number | undefined>(undefined);
  private running = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly unwatch: () => void;

  constructor({ opened, loaded, at }: Shown, link: Link, before: Measure | undefined) {
    this.shape.value = before ? before.shape.peek() : shapeOf(link);
    this.tool.value = before?.tool.peek() ?? "move";
    this.unwatch = effect(() => {
      const [shown, position, shape] = [loaded.value, at.value, this.shape.value];
      // At first, the picture still shows the moment before.
      const now = shown?.opened === opened ? shown : undefined;
      this.cancel();
      const within = now && shape && inside(shape, now);
      batch(() => {
        this.failure.value = this.statistics.value = this.series.value = this.marked.value = undefined;
        this.isStopped.value = false;
        this.progress.value = within ? { done: 0, of: 1 } : undefined;
      });
      if (now && within) this.timer = setTimeout(() => void this.run(now, position, within), REST_MS);
    });
  }

  /** Stops reading. The results so far stay. */
  cancel(): void {
    clearTimeout(this.timer);
    this.running.abort();
    batch(() => {
      this.isStopped.value = this.progress.peek() !== undefined;
      this.progress.value = undefined;
    });
  }

  /** Measures nothing any more. */
  clear(): void {
    this.shape.value = undefined;
  }

  stop(): void {
    this.unwatch();
    this.cancel();
  }

  link(): Record<string, string> {
    const shape = this.shape.value;
    if (!shape) return {};
    if (shape.kind === "line") return { line: [...shape.from, ...shape.to].join() };
    const { c0, c1, r0, r1 } = shape.box;
    return { box: [c0, r0, c1, r1].join() };
  }

  private async run(loaded: Loaded, at: Readonly<Record<string, number>>, shape: Shape): Promise<void> {
    const { signal } = (this.running = new AbortController());
    const of = shape.kind === "box" ? sizeOf(shape.box) : Math.max(Math.abs(shape.to[0] - shape.from[0]), Math.abs(shape.to[1] - shape.from[1])) + 1;
    try {
      if (shape.kind === "box") {
        await measureBox(loaded, shape.box, at, signal, (found, done) => batch(() => {
          this.statistics.value = found;
          this.progress.value = { done, of };
        }));
      } else {
        const series = await measureLine(loaded, shape.from, shape.to, at, signal, (done) => { this.progress.value = { done, of }; });
        if (!signal.aborted) this.series.value = series;
      }
    } catch (error) {
      if (!signal.aborted) this.failure.value = error instanceof Error ? error.message : String(error);
    } finally {
      if (!signal.aborted) this.progress.value = undefined;
    }
  }
}

/** The part of a shape inside the picture. `undefined` if there is none. */
function inside(shape: Shape, { x, y }: Loaded): Shape | undefined {
  const whole = { c0: 0, c1: x.length - 1, r0: 0, r1: (y?.length ?? 1) - 1 };
  const holds = ([c, r]: Cell) => c <= whole.c1 && r <= whole.r1;
  if (shape.kind === "line") return holds(shape.from) && holds(shape.to) ? shape : undefined;
  const box = common(shape.box, whole);
  return box && { kind: "box", box };
}

/** The shape of a link. Invalid ones are ignored. */
function shapeOf(link: Link): Shape | undefined {
  const numbers = (name: string) => {
    const parts = (link[name] ?? "").split(",");
    const found = parts.map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : NaN));
    return found.length === 4 && found.every(Number.isSafeInteger) ? (found as [number, number, number, number]) : undefined;
  };
  const [box, line] = [numbers("box"), numbers("line")];
  if (box && box[0] <= box[2] && box[1] <= box[3]) return { kind: "box", box: { c0: box[0], r0: box[1], c1: box[2], r1: box[3] } };
  return line && { kind: "line", from: [line[0], line[1]], to: [line[2], line[3]] };
}
