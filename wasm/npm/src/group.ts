// Opens arrays and groups. Groups are folders that list arrays and other groups.
import { check } from "./arguments.js";
import { keyOf, metadataOf, OPENING, rawStore, storeOf, TileArray, timeRange, urlOf, within, type CallOptions, type OpenOptions } from "./array.js";
import type { RawGroup } from "./core.js";
import { HyperslabError } from "./errors.js";
import { HttpStore } from "./http.js";
import type { Store } from "./store.js";
import type { Fields, Value } from "./values.js";

/** The kind to open: an array, a group, or either. */
export type Kind = "array" | "group" | "any";

/** A member of a group. */
export interface Member {
  /** The name in the group. Default: the last part of `uri`. */
  readonly name: string;
  /** `"unknown"` if it did not exist when it was added. */
  readonly kind: "array" | "group" | "unknown";
  /** If `relative`, the path in the group's store; otherwise a URI. */
  readonly uri: string;
  /** Whether the member is in the group's store. */
  readonly relative: boolean;
}

/** A group or an array in the tree of a group. */
export interface TreeNode extends Pick<Member, "name" | "kind" | "uri"> {
  /** The members of a group. */
  readonly members?: readonly TreeNode[];
  /** Why some members of a group are not shown, or why a member cannot be opened. */
  readonly problem?: string;
}

/** The options of {@link Group.tree}. */
export interface TreeOptions extends CallOptions {
  /** How many levels of members to show. Default: 16. */
  depth?: number;
  /** The maximum number of members in the whole tree. Default: 10,000. */
  limit?: number;
}

/**
 * Opens the array at a URL or in a store. If you know its attributes, say so, and TypeScript knows the types of what you
 * read: `open<{ elevation: "float32" }>(url)`. They are not checked; {@link TileArray.is} checks them. With
 * `kind: "group"`, opens a group; with `kind: "any"`, whichever there is: a {@link Group} has the `kind` `"group"`.
 *
 * Fails with the code `NotFound` if there is no array, `Key` if the array is encrypted and the key is missing or wrong,
 * and `Io` if a request failed.
 *
 * @example
 * ```js
 * import { open } from "hyperslab";
 *
 * const quakes = await open("https://example.org/arrays/quakes", { at: new Date("2018-02-03") });
 * console.log(quakes.kind, quakes.attrs.map(({ name }) => name));
 * ```
 *
 * ```text
 * sparse [ 'time', 'mag', 'place' ]
 * ```
 */
export async function open<A extends object = Fields>(source: string | URL | Store, options?: OpenOptions & { kind?: "array" }): Promise<TileArray<A>>;
export async function open(source: string | URL | Store, options: OpenOptions & { kind: "group" }): Promise<Group>;
export async function open<A extends object = Fields>(source: string | URL | Store, options: OpenOptions & { kind: Kind }): Promise<TileArray<A> | Group>;
export async function open(source: string | URL | Store, options: OpenOptions & { kind?: Kind } = {}): Promise<TileArray | Group> {
  check<OpenOptions & { kind: Kind }>({ options }, OPENING);
  const { kind = "array", path = "" } = options;
  if (kind !== "array" && kind !== "group" && kind !== "any") throw new HyperslabError("InvalidArgument", `unknown kind '${String(kind)}'; use array, group or any`);
  const store = storeOf(source, options);
  if (kind === "group") return Group.open(store, path, options);
  try {
    return await TileArray.open(store, path, options);
  } catch (error) {
    if (!(error instanceof HyperslabError) || error.code !== "NotFound" || !error.message.includes("this is a group")) throw error;
    if (kind === "any") return Group.open(store, path, options);
    throw new HyperslabError("NotFound", `${error.message}, or the group itself with { kind: "group" }`, { cause: error });
  }
}

/**
 * Whether there is an array, a group or neither at a URL or in a store.
 *
 * @example
 * ```js
 * import { kindOf } from "hyperslab";
 *
 * console.log(await kindOf("https://example.org/arrays/rain"), await kindOf("https://example.org/arrays/nothing"));
 * ```
 *
 * ```text
 * array undefined
 * ```
 */
export async function kindOf(source: string | URL | Store, options: OpenOptions = {}): Promise<"array" | "group" | undefined> {
  check<OpenOptions>({ options }, OPENING);
  const store = storeOf(source, options);
  const found = within(store, options.signal, async () => rawStore(store).kind(options.path ?? ""));
  return found.catch((error: unknown) => {
    if (error instanceof HyperslabError && error.code === "NotFound") return undefined;
    throw error;
  }) as Promise<"array" | "group" | undefined>;
}

/** A snapshot of a group: its members and its metadata. To see later changes, open it again. */
export class Group {
  /** Tells a group from an array, whose kind is `"dense"` or `"sparse"`. */
  readonly kind = "group";
  /** The members, sorted by name. */
  readonly members: readonly Member[];

  private constructor(
    private readonly raw: RawGroup,
    /** The store with the group. */
    readonly store: Store,
    /** The group's path in the store. */
    readonly path: string,
    /** @internal */
    readonly options: Pick<OpenOptions, "at" | "key" | "pool">,
  ) {
    const found = JSON.parse(raw.members()) as (Omit<Member, "name"> & { name: string | null })[];
    this.members = found.map((m) => ({ ...m, name: m.name ?? last(m.uri) }));
  }

  /** @internal */
  static async open(store: Store, path: string, { at, key, pool, signal }: OpenOptions): Promise<Group> {
    const [start, end] = timeRange(at);
    const raw = await within(store, signal, async (aborted) => rawStore(store).group(path, start, end, keyOf(key), aborted));
    return new Group(raw, store, path, { ...(at === undefined ? {} : { at }), ...(key ? { key } : {}), ...(pool ? { pool } : {}) });
  }

  /** The metadata, by key. */
  async meta(options: CallOptions = {}): Promise<Record<string, Value>> {
    check<CallOptions>({ options }, { signal: 1 });
    const { signal } = options;
    return metadataOf(await within(this.store, signal, async (aborted) => this.raw.metadata(aborted)));
  }

  /** Opens the member `name`, as {@link open} does, with the group's time, key and pool unless `options` has others. */
  async open<A extends object = Fields>(name: string, options?: Omit<OpenOptions, "path"> & { kind?: "array" }): Promise<TileArray<A>>;
  async open(name: string, options: Omit<OpenOptions, "path"> & { kind: "group" }): Promise<Group>;
  async open<A extends object = Fields>(name: string, options: Omit<OpenOptions, "path"> & { kind: Kind }): Promise<TileArray<A> | Group>;
  async open(name: string, options: Omit<OpenOptions, "path"> & { kind?: Kind } = {}): Promise<TileArray | Group> {
    check<OpenOptions & { kind: Kind }>({ name, options }, OPENING);
    const member = this.members.find((m) => m.name === name);
    if (!member) {
      const names = this.members.map((m) => m.name).join(", ");
      throw new HyperslabError("NotFound", `the group has no member '${name}'; ${names ? `its members are ${names}` : "it is empty"}`);
    }
    const { store, path } = this.place(member);
    return open(store, { kind: "array", ...this.options, ...options, path });
  }

  /**
   * The group with its members, their members if they are groups, and so on. A member that does not exist, a group that
   * contains itself, and a group that is shown elsewhere in the tree have a `problem` and no members.
   */
  async tree(options: TreeOptions = {}): Promise<TreeNode> {
    check<TreeOptions>({ options }, { depth: 1, limit: 1, signal: 1 });
    const { depth = 16, limit = 10_000, signal } = options;
    return new Tree(limit, signal).node(this, { name: last(this.path), uri: this.path }, depth, []);
  }

  /** The store and the path of a member. @internal */
  place({ uri, relative, name }: Member): { store: Store; path: string } {
    if (relative) return { store: this.store, path: uri };
    const root = urlOf(this.store).replace(/\/$/, "");
    if (root && uri.startsWith(`${root}/`)) return { store: this.store, path: uri.slice(root.length + 1).replace(/\/$/, "") };
    if (!(this.store instanceof HttpStore)) return { store: storeOf(uri), path: "" };
    // A group on the web must not make a program read local files.
    if (/^https?:/.test(uri)) return { store: this.store.at(uri), path: "" };
    throw new HyperslabError("Unsupported", `the member '${name}' is at ${uri}, which cannot be read from here; open its https URL`);
  }
}

/** Collects the tree of a group. */
class Tree {
  private count = 0;
  private readonly shown = new Set<string>();

  constructor(private readonly limit: number, private readonly signal: AbortSignal | undefined) {}

  /** The node of an open group, which is in the groups `above`. */
  async node(group: Group, { name, uri }: Pick<Member, "name" | "uri">, depth: number, above: readonly string[]): Promise<TreeNode> {
    const own = identity(group.store, group.path);
    this.shown.add(own);
    const taken = group.members.slice(0, Math.max(this.limit - this.count, 0));
    this.count += taken.length;
    const places = taken.map((member) => this.kind(group, member));
    const members: TreeNode[] = [];
    // In turn, so that the tree does not depend on which response arrives first.
    for (const [i, member] of taken.entries()) members.push(await this.member(group, member, places[i] as Promise<Place>, depth, [...above, own]));
    const left = group.members.length - taken.length;
    return { name, kind: "group", uri, members, ...(left > 0 ? { problem: `${left} more members are not shown; raise \`limit\`` } : {}) };
  }

  private async kind(group: Group, member: Member): Promise<Place> {
    try {
      const { store, path } = group.place(member);
      const kind = await kindOf(store, { path, ...(this.signal ? { signal: this.signal } : {}) });
      return { kind, id: identity(store, path) };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }

  private async member(group: Group, member: Member, place: Promise<Place>, depth: number, above: readonly string[]): Promise<TreeNode> {
    const { kind, id = "", problem } = await place;
    this.signal?.throwIfAborted();
    const node = { name: member.name, kind: kind ?? member.kind, uri: member.uri };
    const why = problem
      ?? (kind === undefined ? `nothing exists at ${member.uri}` : undefined)
      ?? (kind === "array" ? undefined : this.unshown(id, depth, above));
    if (kind !== "group" || why !== undefined) return { ...node, ...(why === undefined ? {} : { problem: why }) };
    try {
      const opened = await group.open(member.name, { kind: "group", ...(this.signal ? { signal: this.signal } : {}) });
      return await this.node(opened, node, depth - 1, above);
    } catch (error) {
      this.signal?.throwIfAborted();
      return { ...node, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Why the members of a group are not shown. */
  private unshown(id: string, depth: number, above: readonly string[]): string | undefined {
    if (above.includes(id)) return "the group contains itself";
    if (this.shown.has(id)) return "its members are shown elsewhere in the tree";
    return depth <= 1 ? "its members are deeper than `depth`" : undefined;
  }
}

interface Place { kind?: "array" | "group" | undefined; id?: string; problem?: string }

function identity(store: Store, path: string): string {
  return `${urlOf(store)}/${path}`;
}

function last(path: string): string {
  return path.split("/").filter(Boolean).at(-1) ?? "";
}
