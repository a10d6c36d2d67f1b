// The state of an experiment on the screen: the map, what it is coloured by, and which observations are selected.
import { batch, computed, signal } from "@preact/signals";
import { colormap } from "hyperslab/deck";
import { Camera } from "../camera";
import type { Model } from "../kind";
import { rangeOf, rangeText } from "../link";
import { openArray, type Opened } from "../opened";
import type { Region } from "../table/rows";
import { TableState } from "../table/state";
import { isColour, isCategory, numbers, type Categories, type Colouring } from "./colouring";
import { experimentOf, type Experiment, type Layer } from "./experiment";
import { box, inOutline, type Point } from "./lasso";
import { extentOf, NearestPoint } from "./nearest";
import { coloursOf, drawingOrder } from "./palette";
import type { Positions } from "./positions";
import { ID, readColumn, readGene, readGenes, readMap, readPositions, type Gene } from "./read";
import { summarize } from "./summary";

/** What the observations are coloured by. */
export type By = { readonly column: string } | { readonly gene: Gene };
export type Tool = "move" | "box" | "lasso";

export class SomaModel implements Model {
  readonly experiment: Experiment;
  readonly obs: TableState;
  readonly camera = new Camera();
  readonly map = signal(0);
  readonly layer = signal(0);
  readonly by = signal<By | undefined>(undefined);
  readonly tool = signal<Tool>("move");
  readonly hidden = signal<ReadonlySet<number>>(new Set());
  /** The selected rows. */
  readonly selection = signal<Uint32Array | undefined>(undefined);
  readonly hovered = signal<{ row: number; at: readonly [number, number] } | undefined>(undefined);
  readonly pointSize = signal(0);
  /** The numbers of the lowest and the highest colour. `undefined`: the smallest and the largest number. */
  readonly range = signal<readonly [number, number] | undefined>(undefined);
  readonly genes = signal<readonly Gene[]>([]);
  readonly positions = signal<Positions | undefined>(undefined);
  /** x and y of each observation. */
  readonly points = signal<Float32Array | undefined>(undefined);
  readonly colouring = signal<Colouring | undefined>(undefined);
  /** The categories by which the selection is summarized: those of the last column of categories. */
  readonly groups = signal<Categories | undefined>(undefined);
  /** The last gene, with its value for each observation. */
  readonly expression = signal<{ gene: Gene; layer: Layer; values: Float32Array } | undefined>(undefined);
  private readonly reads = signal(0);
  private readonly failed = signal<string | undefined>(undefined);
  readonly busy = computed(() => this.reads.value + this.obs.busy.value);
  readonly failure = computed(() => this.failed.value);
  private readonly stopped = new AbortController();
  /** The read of colours that is wanted. Older ones are aborted. */
  private colours = new AbortController();
  private mapping = new AbortController();

  constructor(readonly opened: Opened, link: Readonly<Record<string, string>>, before: SomaModel | undefined) {
    const experiment = experimentOf(opened.dataset);
    if (!experiment) throw new Error("this is no SOMA experiment: it has no table of observations");
    this.experiment = experiment;
    this.obs = new TableState(async () => openArray(opened, experiment.obs.path), experiment.obs, { where: link["where"], sort: link["sort"] });
    this.map.value = Math.max(0, experiment.maps.findIndex(({ name }) => name === link["map"]));
    this.layer.value = Math.max(0, experiment.layers.findIndex(({ name }) => name === link["layer"]));
    const size = Number(link["size"] ?? 0);
    this.pointSize.value = size >= 0.5 && size <= 10 ? size : 0;
    void this.run(async () => this.start(link, before));
  }

  /** Tells the user that the map cannot be drawn. */
  fail(error: Error): void {
    this.failed.value = error.message;
  }

  /** Whether an observation is drawn. */
  isShown(row: number): boolean {
    const colouring = this.colouring.peek();
    return colouring?.kind !== "categories" || !this.hidden.peek().has(colouring.codes[row] ?? -1);
  }

  /** What the layer of points is made of. The points are in drawing order. */
  readonly drawn = computed(() => {
    const [points, order] = [this.points.value, this.order.value];
    if (!points) return undefined;
    const positions = new Float32Array(order.length * 2);
    for (let i = 0; i < order.length; i += 1) {
      const row = order[i] ?? 0;
      positions[i * 2] = points[row * 2] ?? NaN;
      positions[i * 2 + 1] = points[row * 2 + 1] ?? NaN;
    }
    return { length: order.length, positions };
  });
  private readonly order = computed(() => {
    const points = this.points.value ?? new Float32Array();
    // Points without a place are not drawn.
    return drawingOrder(this.coloured.value, points.length / 2).filter((row) => !Number.isNaN(points[row * 2]));
  });
  /** The colouring with the chosen range. */
  private readonly coloured = computed(() => {
    const [colouring, range] = [this.colouring.value, this.range.value];
    return colouring?.kind === "numbers" && range ? { ...colouring, low: range[0], high: range[1] } : colouring;
  });
  /** The colours of `drawn`. */
  readonly drawnColours = computed(() => {
    const length = (this.points.value?.length ?? 0) / 2;
    const colours = coloursOf(this.coloured.value, length, { hidden: this.hidden.value, selected: this.mask.value }, colormap("viridis"));
    const order = this.order.value;
    const out = new Uint8Array(order.length * 4);
    // Four bytes at a time.
    const [from, to] = [new Uint32Array(colours.buffer), new Uint32Array(out.buffer)];
    for (let i = 0; i < order.length; i += 1) to[i] = from[order[i] ?? 0] ?? 0;
    return out;
  });
  private readonly mask = computed(() => {
    const rows = this.selection.value;
    if (!rows) return undefined;
    const mask = new Uint8Array(this.positions.value?.length ?? 0);
    for (const row of rows) mask[row] = 1;
    return mask;
  });
  private readonly nearest = computed(() => this.points.value && new NearestPoint(this.points.value, extentOf(this.points.value)));
  readonly summary = computed(() => summarize(this.positions.value?.length ?? 0, this.selection.value, this.groups.value, this.expression.value?.values));

  async showMap(index: number): Promise<void> {
    this.map.value = index;
    await this.run(async () => this.place(false));
  }

  async colourBy(by: By): Promise<void> {
    this.by.value = by;
    await this.run(async () => this.colour());
  }

  async useLayer(index: number): Promise<void> {
    this.layer.value = index;
    await this.run(async () => {
      await this.loadGenes();
      const by = this.by.peek();
      if (!by || !("gene" in by)) return;
      // Another measurement numbers its genes anew.
      const same = this.genes.peek().find(({ names }) => names[0] === by.gene.names[0]);
      if (same) this.by.value = { gene: same };
      else this.by.value = undefined;
      await this.colour();
    });
  }

  toggle(code: number): void {
    const hidden = new Set(this.hidden.peek());
    if (!hidden.delete(code)) hidden.add(code);
    this.hidden.value = hidden;
  }

  /** Selects the observations in an outline; `undefined` for none. */
  select(outline: readonly Point[] | undefined): void {
    const points = this.points.peek();
    this.choose(outline && points ? inOutline(points, outline, (row) => this.isShown(row)) : undefined);
  }

  selectBox(from: Point, to: Point): void {
    this.select(box(from, to));
  }

  /** Selects a category. */
  selectCategory(code: number): void {
    const groups = this.groups.peek();
    if (groups) this.choose(Uint32Array.from(groups.codes.keys()).filter((row) => groups.codes[row] === code));
  }

  /** Shows the row of the observation under the pointer in the table, if the table has its own order. */
  reveal(): void {
    const row = this.hovered.peek()?.row;
    const { where, sort, only } = this.obs.view.peek();
    if (row !== undefined && !where && !sort && !only) this.obs.reveal(row);
  }

  /** The observation at a point of the canvas, within some pixels. */
  hover(at: readonly [number, number] | undefined): void {
    const { scale } = this.camera.state.peek();
    const row = at && this.nearest.peek()?.at(...this.camera.toWorld(...at), 8 / scale, (row) => this.isShown(row));
    this.hovered.value = row === undefined || !at ? undefined : { row, at };
  }

  link(): Record<string, string> {
    const by = this.by.value;
    const { maps, layers } = this.experiment;
    const [map, layer] = [maps[this.map.value]?.name, layers[this.layer.value]?.name];
    return {
      ...(map ? { map } : {}), ...(layer ? { layer } : {}),
      ...(by ? ("gene" in by ? { gene: String(by.gene.id) } : { by: by.column }) : {}),
      hide: [...this.hidden.value].join(","), range: rangeText(this.range.value), size: this.pointSize.value > 0 ? String(this.pointSize.value) : "",
      ...(this.points.value ? this.camera.link() : {}), ...this.obs.link(),
    };
  }

  stop(): void {
    this.stopped.abort();
    this.mapping.abort();
    this.colours.abort();
    this.obs.stop();
  }

  /** Reads what is shown first. */
  private async start(link: Readonly<Record<string, string>>, before: SomaModel | undefined): Promise<void> {
    const { signal } = this.stopped;
    const obs = await openArray(this.opened, this.experiment.obs.path);
    this.positions.value = await readPositions(obs, signal);
    const genes = this.loadGenes();
    await Promise.all([this.place(true, link, before), genes, this.startColour(link, genes)]);
  }

  /** Colours by what the link says, or by the first column of categories or of numbers. */
  private async startColour(link: Readonly<Record<string, string>>, genes: Promise<void>): Promise<void> {
    const fields = await this.obs.known;
    const categories = fields.find(isCategory);
    const column = fields.find((field) => field.name === link["by"] && isColour(field)) ?? categories ?? fields.find((field) => isColour(field) && field.sort !== "text");
    if (categories) this.groups.value = (await readColumn(await this.obs.opened, categories, this.stopped.signal)) as Categories;
    if (link["gene"] !== undefined) {
      await genes;
      const gene = this.genes.peek().find(({ id }) => String(id) === link["gene"]);
      if (gene) this.by.value = { gene };
    }
    if (!this.by.peek() && column) this.by.value = { column: column.name };
    await this.colour();
    const hidden = (link["hide"] ?? "").split(",").filter((code) => /^\d+$/.test(code)).map(Number);
    batch(() => {
      this.hidden.value = new Set(hidden);
      this.range.value = rangeOf(link["range"]);
    });
  }

  private async loadGenes(): Promise<void> {
    const layer = this.experiment.layers[this.layer.peek()];
    if (!layer) return;
    const genes = await readGenes(await openArray(this.opened, layer.genes.path), layer.genes, this.stopped.signal);
    // Another layer may have been chosen meanwhile.
    if (this.experiment.layers[this.layer.peek()] === layer) this.genes.value = genes;
  }

  /** Reads the positions of the chosen map. */
  private async place(isFirst: boolean, link: Readonly<Record<string, string>> = {}, before?: SomaModel): Promise<void> {
    const [map, positions] = [this.experiment.maps[this.map.peek()], this.positions.peek()];
    if (!map || !positions) return;
    this.mapping.abort();
    const { signal } = (this.mapping = new AbortController());
    const points = await readMap(await openArray(this.opened, map.embedding.path), map.embedding, positions, signal);
    if (signal.aborted) return;
    batch(() => {
      this.points.value = points;
      this.hovered.value = undefined;
      this.camera.fit({ ...withMargin(extentOf(points)), up: true, isCells: false });
      if (isFirst && before?.points.peek()) this.camera.follow(before.camera);
      if (isFirst) this.camera.followLink(link);
    });
  }

  /** Reads the values to colour by. */
  private async colour(): Promise<void> {
    const [by, positions, layer] = [this.by.peek(), this.positions.peek(), this.experiment.layers[this.layer.peek()]];
    if (!by || !positions) return;
    this.colours.abort();
    const { signal } = (this.colours = new AbortController());
    if ("gene" in by) {
      if (!layer) return;
      const values = await readGene(await openArray(this.opened, layer.variable.path), layer, by.gene.id, positions, signal);
      if (!signal.aborted) batch(() => { this.expression.value = { gene: by.gene, layer, values }; this.use(numbers(by.gene.names[0] ?? "", values)); });
      return;
    }
    const field = (await this.obs.known).find(({ name }) => name === by.column);
    const colouring = field && (await readColumn(await this.obs.opened, field, signal));
    if (colouring && !signal.aborted) batch(() => this.use(colouring));
  }

  private use(colouring: Colouring): void {
    this.hidden.value = new Set();
    this.range.value = undefined;
    this.colouring.value = colouring;
    if (colouring.kind === "categories") this.groups.value = colouring;
  }

  private choose(rows: Uint32Array | undefined): void {
    this.selection.value = rows;
    const [positions, mask] = [this.positions.peek(), this.mask.peek()];
    const isChosen = positions && mask && ((id: number | bigint) => mask[positions.rowOf(id)] === 1);
    const dims = this.experiment.obs.columns.filter(({ dimension }) => dimension);
    void this.obs.show(dims.length === 1 && dims[0]?.name === ID ? { only: isChosen } : { region: isChosen && { ranges: {}, keep: keepIds(isChosen) } });
  }

  private async run(work: () => Promise<void>): Promise<void> {
    this.reads.value += 1;
    try {
      await work();
      this.failed.value = undefined;
    } catch (error) {
      const isAborted = error instanceof Error && (error.name === "AbortError" || ("code" in error && error.code === "Cancelled"));
      if (!isAborted) this.failed.value = error instanceof Error ? error.message : String(error);
    } finally {
      this.reads.value -= 1;
    }
  }
}

/** The cells of a table that is not indexed by the identifier, but has it as a column. */
function keepIds(isChosen: (id: number | bigint) => boolean): Region["keep"] {
  return ({ columns }) => {
    const ids = columns[ID]?.values as ArrayLike<number | bigint> | undefined;
    return (i) => isChosen(ids?.[i] ?? -1);
  };
}

/** The part of a map's extent that is left free on each side. */
const MARGIN = 0.06;

function withMargin({ x, y }: { x: [number, number]; y: [number, number] }): { x: [number, number]; y: [number, number] } {
  const wider = ([low, high]: [number, number]): [number, number] => {
    const by = (high - low) * MARGIN || 1;
    return [low - by, high + by];
  };
  return { x: wider(x), y: wider(y) };
}
