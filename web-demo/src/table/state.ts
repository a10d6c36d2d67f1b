// The state of a table on the screen: its columns, the condition, the order, the rows that were read, and the selection.
import { batch, signal } from "@preact/signals";
import { isHyperslabError, type Table, type TileArray, type Value } from "hyperslab";
import { cellText } from "./cells";
import { fieldsOf, valueOf, type Field } from "./field";
import { rowsOf, type Region, type Rows, type View } from "./rows";
import * as selection from "./selection";

/** What the table shows at first. */
export interface Start {
  where?: string | undefined;
  sort?: string | undefined;
  /** The part of the array to show; all if it is absent. Found before rows are. */
  region?: Promise<Region | undefined>;
  /** Whether to show a column. Default: all. */
  isShown?(field: Field): boolean;
}

export class TableState {
  readonly fields = signal<readonly Field[]>([]);
  readonly rows = signal<Rows | undefined>(undefined);
  /** Grows when cells have been read. */
  readonly arrived = signal(0);
  readonly view = signal<View>({ where: "", sort: undefined, only: undefined });
  readonly selected = signal(selection.NONE);
  readonly active = signal({ row: 0, column: 0 });
  /** A row to scroll to. */
  readonly revealed = signal<{ row: number } | undefined>(undefined);
  readonly busy = signal(0);
  readonly failure = signal<string | undefined>(undefined);
  /** What is wrong with the condition. */
  readonly badCondition = signal<string | undefined>(undefined);
  readonly opened: Promise<TileArray>;
  /** The columns, once they are known. */
  readonly known: Promise<readonly Field[]>;
  array: TileArray | undefined;
  private readonly stopped = new AbortController();
  private finding = new AbortController();
  private loading: { first: number; end: number; abort: AbortController } | undefined;
  private wanted: { first: number; end: number; names: readonly string[] } | undefined;

  constructor(open: () => Promise<TileArray>, readonly table: Table | undefined, { where = "", sort, region, isShown = () => true }: Start = {}) {
    if (where || sort) this.view.value = { where, sort: parseSort(sort), only: undefined };
    this.opened = open();
    this.known = this.opened.then(async (array) => (await fieldsOf(array, table)).filter(isShown));
    void this.run(async () => {
      [this.array, this.fields.value] = await Promise.all([this.opened, this.known]);
      if (region) this.view.value = { ...this.view.peek(), region: await region };
      await this.find();
    });
    // Failures are shown by the table.
    this.known.catch(() => {});
    region?.catch(() => {});
  }

  /** Changes the view, and finds its rows. */
  async show(change: Partial<View>): Promise<void> {
    this.view.value = { ...this.view.peek(), ...change };
    if (this.array) await this.run(async () => this.find());
  }

  /** Sorts by a column: upwards, downwards, not at all. */
  async sortBy(name: string): Promise<void> {
    const { sort } = this.view.peek();
    await this.show({ sort: sort?.name !== name ? { name, descending: false } : sort.descending ? undefined : { name, descending: true } });
  }

  /** The value of a cell: for categories the label. `undefined`: not read yet. */
  value(row: number, field: Field): Value | undefined {
    const rows = this.rows.peek();
    return rows && this.valueIn(rows, row, field);
  }

  /** The same for rows that may no longer be shown. */
  valueIn(rows: Rows, row: number, field: Field): Value | undefined {
    const stored = rows.cell(row, field.name);
    return stored === undefined ? undefined : valueOf(field, stored);
  }

  /** The text of a cell. `undefined`: not read yet. */
  text(row: number, field: Field, max?: number): string | undefined {
    const value = this.value(row, field);
    return value === undefined ? undefined : cellText(field, value, max);
  }

  /** Reads the visible cells. A read of rows that have left the screen is aborted. */
  want(first: number, end: number, names: readonly string[]): void {
    this.wanted = { first, end, names };
    const { loading } = this;
    if (!loading) void this.run(async () => this.load());
    else if (end <= loading.first || first >= loading.end) loading.abort.abort();
  }

  /** Runs work for the user, such as an export, until the table is closed. */
  async task(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.failure.value = undefined;
    await this.run(async () => work(this.stopped.signal));
  }

  /** Makes a row the active one, and scrolls to it. */
  reveal(row: number): void {
    batch(() => {
      this.active.value = { row, column: this.active.peek().column };
      this.revealed.value = { row };
    });
  }

  link(): Record<string, string> {
    const { where, sort } = this.view.value;
    return { ...(where ? { where } : {}), ...(sort ? { sort: `${sort.descending ? "-" : ""}${sort.name}` } : {}) };
  }

  stop(): void {
    this.stopped.abort();
    this.finding.abort();
    this.loading?.abort.abort();
  }

  private async find(): Promise<void> {
    const { array } = this;
    if (!array) return;
    this.finding.abort();
    const finding = new AbortController();
    this.finding = finding;
    const view = this.view.peek();
    try {
      const rows = await rowsOf(array, this.fields.peek(), view, finding.signal);
      if (finding.signal.aborted) return;
      this.loading?.abort.abort();
      batch(() => {
        this.rows.value = rows;
        this.selected.value = selection.NONE;
        this.active.value = { row: 0, column: Math.min(this.active.peek().column, Math.max(0, this.fields.peek().length - 1)) };
        this.badCondition.value = this.failure.value = undefined;
        this.arrived.value += 1;
      });
    } catch (error) {
      if (finding.signal.aborted) return;
      if (!view.where || !isHyperslabError(error) || error.code !== "InvalidArgument") throw error;
      this.badCondition.value = error.message.replace(`condition '${view.where}': `, "").replace(/^condition: /, "");
    }
  }

  private async load(): Promise<void> {
    while (this.wanted && !this.stopped.signal.aborted) {
      const { first, end, names } = this.wanted;
      const abort = new AbortController();
      this.wanted = undefined;
      this.loading = { first, end, abort };
      try {
        await this.rows.peek()?.load(first, end, names, abort.signal);
      } catch (error) {
        if (!abort.signal.aborted) throw error;
      } finally {
        this.loading = undefined;
        this.arrived.value += 1;
      }
    }
  }

  /** Counts a read, and keeps its failure for the user. */
  private async run(work: () => Promise<void>): Promise<void> {
    this.busy.value += 1;
    try {
      await work();
    } catch (error) {
      if (!this.stopped.signal.aborted) this.failure.value = error instanceof Error ? error.message : String(error);
    } finally {
      this.busy.value -= 1;
    }
  }
}

/** Parses the order of a link: a name, after "-" if it is descending. */
export function parseSort(text: string | undefined): View["sort"] {
  if (!text) return undefined;
  return text.startsWith("-") ? { name: text.slice(1), descending: true } : { name: text, descending: false };
}
