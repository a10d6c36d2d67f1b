// Draws the plane of two axes of a dense array, from the level that suits the view.
import { CompositeLayer, type DefaultProps, type GetPickingInfoParams, type Layer, type UpdateParameters } from "@deck.gl/core";
import type { Texture } from "@luma.gl/core";
import type { TileArray } from "../array.js";
import type { PyramidLevel } from "../describe.js";
import { HyperslabError } from "../errors.js";
import { arrayOf } from "../values.js";
import type { ArrayLayerOwnProps, ArrayLayerProps, ArrayPickingInfo, DrawnView, PickedCell } from "./array-props.js";
import { CellsLayer } from "./cells-layer.js";
import type { Coordinate } from "./coordinates.js";
import { identityOf, json } from "./names.js";
import { missingOf, type Missing } from "./missing.js";
import { cellAt, extentsOf, sampleOf } from "./look.js";
import { IDENTITY, intersection, inverse, toWorld, uncovered, type Place, type Rect } from "./place.js";
import { keyOf, planesOf, readTile, type Plane } from "./planes.js";
import { Pyramid, type Level } from "./pyramid.js";
import { shadingProps } from "./shading.js";
import { colorsTexture, texelsOf, textureOf } from "./texture.js";
import { Tiles, type Held, type Wanted } from "./tiles.js";
import { cellsPerPixel, centreOf, seenOf, turnsOf, type Turn } from "./view.js";

const CACHE_BYTES = 256 * 2 ** 20;
const TILES_MAX = 4096;

/** The state that the layer keeps from one set of props to the next. */
type State = {
  tiles: Tiles;
  pyramid?: Pyramid | undefined;
  planes: readonly Plane[];
  missing: readonly Missing[];
  /** Identifies what the tiles hold: arrays, planes and `at`. */
  shown: string;
  /** The state that was shown before, until the tiles of the new one have come. */
  before?: string;
  /** Identify the pyramid, the missing values and the colours. */
  pyramidName?: string | undefined;
  missingName?: string;
  colorsName?: string;
  place: Place;
  /** The visible parts, and the copies of the array on a map. */
  seen: readonly Rect[];
  turns: readonly Turn[];
  inverted?: Place;
  colors?: Texture;
  /** The tiles in view of the level that is drawn. */
  inView: readonly Wanted[];
  /** The keys of the tiles that are drawn. */
  drawn: readonly string[];
  view?: DrawnView;
  busy: number;
  /** Whether all tiles of the state `loadedOf` have come. */
  isLoaded: boolean;
  loadedOf?: string;
  /** Identifies the last sample. */
  sampled?: string;
};

const defaultProps: DefaultProps<ArrayLayerProps> = {
  levels: { type: "object", value: null as unknown as TileArray, compare: false },
  attribute: { type: "unknown", value: undefined } as never,
  x: { type: "unknown", value: undefined } as never,
  y: { type: "unknown", value: undefined } as never,
  at: { type: "object", value: {}, compare: 1 },
  first: { type: "object", value: {}, compare: 1 },
  stride: { type: "object", value: {}, compare: 1 },
  range: { type: "unknown", value: undefined } as never,
  colormap: { type: "unknown", value: "viridis" } as never,
  scale: { type: "unknown", value: "linear" } as never,
  missing: { type: "unknown", value: undefined } as never,
  valid: { type: "unknown", value: undefined } as never,
  place: { type: "array", value: [...IDENTITY], compare: true } as never,
  channels: { type: "unknown", value: undefined } as never,
  rgb: { type: "unknown", value: false } as never,
  decode: { type: "unknown", value: undefined } as never,
  cacheBytes: { type: "number", value: CACHE_BYTES, min: 0 },
  onLoad: { type: "function", value: null, optional: true } as never,
  onBusy: { type: "function", value: null, optional: true } as never,
  onView: { type: "function", value: null, optional: true } as never,
  onData: { type: "function", value: null, optional: true } as never,
};

/**
 * A deck.gl layer that draws the plane of two axes of a dense array, as tiles of the level that suits the view. Values
 * are coloured by the GPU: a change of `range`, `colormap`, `scale` or `decode` reads and uploads nothing. Tiles that
 * leave the view, or belong to former props, are aborted; the old picture stays until the new one has come.
 *
 * @example
 * ```js
 * import { levels } from "hyperslab";
 * import { ArrayLayer } from "hyperslab/deck";
 *
 * const layer = new ArrayLayer({ id: "elevation", levels: await levels("https://example.org/arrays/elevation"), range: [0, 600] });
 * ```
 */
export class ArrayLayer extends CompositeLayer<Required<ArrayLayerOwnProps>> {
  /** The name of the class, in messages of deck.gl. */
  static override layerName = "ArrayLayer";
  /** The defaults of the props. */
  static override defaultProps = defaultProps as DefaultProps<never>;

  /** @internal */
  declare state: State;

  /** Makes a layer. deck.gl keeps what was read if another one with the same `id` takes its place. */
  constructor(props: ArrayLayerProps) {
    super(props as never);
  }

  /** @internal */
  override initializeState(): void {
    const changed = () => { if (!this.isGone()) this.current().setNeedsUpdate(); };
    const tiles = new Tiles({ changed, failed: (error) => { if (!this.isGone()) this.current().fail(error); } }, this.props.cacheBytes);
    this.state = { tiles, planes: [], missing: [], shown: "", place: IDENTITY, seen: [], turns: [], inView: [], drawn: [], busy: 0, isLoaded: false };
  }

  /** @internal */
  override shouldUpdateState({ changeFlags }: UpdateParameters<this>): boolean {
    return Boolean(changeFlags.somethingChanged);
  }

  /** @internal */
  override updateState({ changeFlags }: UpdateParameters<this>): void {
    const { viewport } = this.context;
    try {
      if (changeFlags.propsOrDataChanged || this.state.shown === "") this.resolve();
      // Until the page has been laid out, the view has no size.
      if (this.state.pyramid && viewport.width > 1 && viewport.height > 1) this.look();
    } catch (error) {
      // If props do not fit the array, `onError` is called once and nothing is drawn.
      Object.assign(this.state, { pyramid: undefined, pyramidName: undefined, shown: "wrong props" });
      this.fail(error);
    }
  }

  /** @internal */
  override finalizeState(context: this["context"]): void {
    super.finalizeState(context);
    this.state.tiles.end();
    this.state.colors?.destroy();
  }

  /** Whether all tiles in view have come. */
  override get isLoaded(): boolean {
    return Boolean(this.state?.isLoaded) && super.isLoaded;
  }

  /** The cell at a place of the world, without asking the GPU. `undefined` outside the array. */
  cellAt(coordinate: readonly number[]): PickedCell | undefined {
    // deck.gl gives a layer its state when it is first drawn.
    if (!this.state) return undefined;
    const { pyramid, inverted, tiles, shown, missing } = this.state;
    const [x = NaN, y = NaN] = coordinate;
    if (!pyramid || !inverted) return undefined;
    const turns = this.context.viewport.isGeospatial ? [0, -360, 360] : [0];
    for (const turn of turns) {
      const found = cellAt(pyramid, toWorld(inverted, x + turn, y), tiles.loaded().filter(({ state }) => state === shown), missing, this.props.decode, this.at());
      if (found) return found;
    }
    return undefined;
  }

  /** Adds the cell to what deck.gl found. @internal */
  override getPickingInfo({ info }: GetPickingInfoParams): ArrayPickingInfo {
    const cell = info.coordinate && this.cellAt(info.coordinate);
    return Object.assign(info, cell ? { object: cell, ...cell } : {}) as ArrayPickingInfo;
  }

  /** @internal */
  override renderLayers(): Layer[] {
    const { pyramid, planes, colors, seen, turns, place } = this.state;
    if (!pyramid || !colors) return [];
    const shading = shadingProps(planes.map(({ range }) => range), this.props.scale, this.props.decode, colors);
    const covered: Rect[] = [];
    const drawn: string[] = [];
    this.state.drawn = drawn;
    return this.ordered().flatMap((held) => {
      const { rect, outer } = held.tile;
      if (!seen.some((part) => intersection(part, rect))) return [];
      const parts = uncovered(rect, covered);
      covered.push(rect);
      const values = parts.length > 0 && this.textured(held);
      if (!values) return [];
      drawn.push(held.key);
      if (JSON.stringify(held.parts) !== JSON.stringify(parts)) held.parts = parts;
      return turns.flatMap(({ degrees, clip }) => {
        const own = clip === pyramid.extent ? held.parts : parts.flatMap((part) => intersection(part, clip) ?? []);
        if (!own || own.length === 0) return [];
        return [new CellsLayer(this.getSubLayerProps({ id: `${held.id}/${degrees}` }), { values, outer, parts: own, place, turn: degrees, shading } as never)];
      });
    });
  }

  /** Finds out what the props ask for. */
  private resolve(): void {
    const { props, state } = this;
    const { levels, x, y, first, stride, missing, valid } = props;
    const arrays = (Array.isArray(levels) ? (levels as PyramidLevel[]).map(({ array }) => array) : [levels]) as TileArray[];
    const axes = { x, y, first, stride };
    const name = json([arrays.map(identityOf), axes]);
    if (name !== state.pyramidName) {
      state.pyramid = new Pyramid(levels, axes, props.channels && props.channels.length > 3 ? 512 : 1024);
      state.pyramidName = name;
    }
    const { pyramid } = state;
    const array = pyramid?.levels[0]?.array;
    if (!pyramid || !array) return;
    state.planes = planesOf(array, pyramid.drawn, props);
    const missingName = json([name, missing, valid?.map(String), state.planes.map(({ attribute }) => attribute)]);
    if (missingName !== state.missingName) {
      state.missing = state.planes.map(({ attribute }) => missingOf(array, attribute, missing, valid));
      state.missingName = missingName;
    }
    this.recolor();
    const place = props.place ?? IDENTITY;
    const inverted = inverse(place);
    if (!inverted) throw new HyperslabError("InvalidArgument", `the prop 'place' must be six numbers that map cells to different places, not [${[...place].join(", ")}]`);
    Object.assign(state, { place, inverted });
    const shown = json([name, keyOf(state.planes), pyramid.fixed(this.at())]);
    if (shown === state.shown) return;
    // The old picture stays until the new one has come.
    if (state.isLoaded || state.before === undefined) state.before = state.shown;
    state.shown = shown;
  }

  /** Uploads the colours, if they have changed. */
  private recolor(): void {
    const { state } = this;
    const maps = state.planes.map(({ colors }) => colors);
    const name = maps.map((map) => map.join()).join(";");
    if (state.colors && state.colorsName === name) return;
    state.colors?.destroy();
    state.colors = colorsTexture(this.context.device, maps);
    state.colorsName = name;
  }

  /** Finds out what is in view, and reads what is not there yet. */
  private look(): void {
    const { state, props } = this;
    const { pyramid, inverted, place, tiles } = state;
    const { viewport } = this.context;
    if (!pyramid || !inverted) return;
    state.turns = turnsOf(viewport, place, inverted, pyramid.extent);
    state.seen = seenOf(viewport, inverted, state.turns);
    const perPixel = cellsPerPixel(viewport, inverted, this.pixelRatio());
    const candidates = pyramid.from(...perPixel);
    const most = (props.cacheBytes ?? CACHE_BYTES) / this.bytesPerCell();
    const drawn = candidates.map((level) => [level, this.tilesOf(level, most)] as const).find(([, found]) => found);
    const [level, inView] = [drawn?.[0] ?? (candidates[0] as Level), drawn?.[1] ?? []];
    const coarsest = pyramid.levels.at(-1) as Level;
    const isMissed = inView.some(({ key }) => !tiles.get(key)?.planes);
    const coarse = isMissed && coarsest !== level ? this.tilesOf(coarsest, most / 4) ?? [] : [];
    const [column, row] = centreOf(viewport, inverted);
    const away = ({ tile: { rect } }: Wanted) => Math.hypot((rect.x0 + rect.x1) / 2 - column, (rect.y0 + rect.y1) / 2 - row);
    state.inView = [...inView].sort((a, b) => away(a) - away(b));
    tiles.want([...coarse, ...state.inView], state.drawn, props.cacheBytes ?? CACHE_BYTES);
    const cells = [perPixel[0] / level.x.factor, perPixel[1] / (level.y?.factor ?? 1)] as const;
    this.tell({ level: level.index, factors: [level.x.factor, level.y?.factor ?? 1], cellsPerPixel: cells, tooMany: !drawn });
  }

  /** Pixels of the screen in one of the page. The canvas itself has its size only later. */
  private pixelRatio(): number {
    const used = (this.context.deck?.props as { useDevicePixels?: boolean | number } | undefined)?.useDevicePixels ?? true;
    return typeof used === "number" ? used : used ? globalThis.devicePixelRatio || 1 : 1;
  }

  /** The tiles of a level that are in view. `undefined` if they have more than `most` cells. */
  private tilesOf(level: Level, most: number): Wanted[] | undefined {
    const { pyramid, seen, shown, planes } = this.state;
    const found = new Map<string, Wanted>();
    let cells = 0;
    for (const part of seen) {
      const tiles = pyramid?.tiles(level, part, TILES_MAX);
      if (!pyramid || !tiles) return undefined;
      for (const tile of tiles) {
        const { columns, rows } = tile;
        const key = `${shown}/${level.index}/${columns[0]}/${rows[0]}`;
        if (found.has(key)) continue;
        cells += (columns[1] - columns[0]) * (rows[1] - rows[0]);
        if (cells > most) return undefined;
        const at = this.at();
        found.set(key, { key, tile, state: shown, read: (signal) => readTile(pyramid, tile, planes, at, signal) });
      }
    }
    return [...found.values()];
  }

  /** Bytes of a cell, in memory and on the GPU. */
  private bytesPerCell(): number {
    const sizes = this.state.planes.map(({ attribute }) => {
      const attr = this.state.pyramid?.levels[0]?.array.attrs.find(({ name }) => name === attribute);
      return 4 + (attr ? arrayOf(attr.type).BYTES_PER_ELEMENT * Number(attr.cell) : 8);
    });
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** The tiles to draw, those that hide others first: the drawn level, then the levels nearest to it, then the former picture. */
  private ordered(): Held[] {
    const { tiles, shown, before, view } = this.state;
    const far = ({ state, tile }: Held) => (state === shown ? 0 : 1000) + Math.abs(tile.level.index - (view?.level ?? 0));
    return tiles.loaded().filter(({ state }) => state === shown || state === before).sort((a, b) => far(a) - far(b) || a.id - b.id);
  }

  /** The texture of a tile. */
  private textured(held: Held): Texture | undefined {
    const { missing, missingName, tiles } = this.state;
    const { columns, rows } = held.tile;
    // Tiles of the former picture keep theirs.
    if (!held.planes || (held.texture && (held.textured === missingName || held.state !== this.state.shown))) return held.texture;
    held.texture?.destroy();
    const texels = texelsOf(held.planes, columns[1] - columns[0], rows[1] - rows[0], missing);
    held.texture = textureOf(this.context.device, texels);
    held.textured = missingName ?? "";
    tiles.grow(held, texels.data.byteLength);
    return held.texture;
  }

  /** Tells the program what has changed. */
  private tell(view: DrawnView): void {
    const { props, state } = this;
    const { busy } = state.tiles;
    const isLoaded = busy === 0 && !view.tooMany && state.inView.every(({ key }) => state.tiles.get(key)?.planes);
    if (busy === 0) delete state.before;
    const [wasBusy, wasLoaded, before] = [state.busy, state.isLoaded && state.loadedOf === state.shown, state.view];
    Object.assign(state, { view, busy, isLoaded, loadedOf: state.shown });
    if (before?.level !== view.level || before.tooMany !== view.tooMany) props.onView?.(view);
    if (busy !== wasBusy) props.onBusy?.(busy);
    this.sample();
    if (isLoaded && (!wasLoaded || wasBusy > 0)) props.onLoad?.();
  }

  /** Hands out values in view, if they have changed. */
  private sample(): void {
    const { props, state } = this;
    if (!props.onData) return;
    const all = state.inView.flatMap(({ key }) => state.tiles.get(key) ?? []).filter(({ planes }) => planes);
    const shown = all.length > 0 ? all : this.ordered().filter((held) => held.state === state.shown);
    const name = json([shown.map(({ id }) => id), state.seen, state.missingName, props.decode, state.isLoaded]);
    if (shown.length === 0 || name === state.sampled) return;
    state.sampled = name;
    props.onData({ values: sampleOf(shown, state.seen, state.missing, props.decode), extents: extentsOf(shown, state.missing, props.decode), done: state.isLoaded });
  }

  /** The coordinates of the axes that are not drawn. */
  private at(): Readonly<Record<string, Coordinate>> {
    return this.props.at ?? {};
  }

  private isGone(): boolean {
    return this.internalState === null;
  }

  /** The instance that deck.gl shows now: each set of props makes a new one, which takes over the state. */
  private current(): ArrayLayer {
    return (this.internalState?.component ?? this) as unknown as ArrayLayer;
  }

  private fail(error: unknown): void {
    this.raiseError(error instanceof Error ? error : new Error(String(error)), "");
  }
}
