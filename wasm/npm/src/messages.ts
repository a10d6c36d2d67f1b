// What a page and its workers say to each other.
import type { WasmSource } from "./engine.js";
import type { RawArray, RawBatches, RawStore, RawView } from "./core.js";

/** The engine's side of a store, as far as reading goes; here, or in workers. */
export interface Engine {
  open(...args: Parameters<RawStore["open"]>): Promise<EngineArray>;
  view(...args: Parameters<RawStore["view"]>): EngineView;
}
export type EngineArray = Pick<
  RawArray,
  | "attrs" | "consolidate" | "count" | "countDeleted" | "deleteCells" | "dims" | "enumeration" | "fragments" | "get" | "metadata" | "nonEmptyDomain" | "put" | "schema" | "times" | "vacuum" | "writeTime"
> & {
  at(...args: Parameters<RawArray["at"]>): Promise<EngineArray>;
  query(...args: Parameters<RawArray["query"]>): EngineBatches;
  view(...args: Parameters<RawArray["view"]>): EngineView;
};
export type EngineBatches = Pick<RawBatches, "next" | "free">;
export type EngineView = Pick<RawView, "list" | "read" | "stat">;

/** The other side: a worker, or in a worker the page. */
export interface Port {
  post(message: Message, transfer?: readonly ArrayBuffer[]): void;
  /** Whether answers are waited for, which keeps Node from ending. */
  busy?(yes: boolean): void;
  close?(): void;
}

/** What an array says of itself at once. */
export interface Facts { attrs: string; dims: string; fragments: string; nonEmptyDomain: string; schema: string; times: string }

/** A store, as a worker has to know it. */
export interface StoreFacts { number: number; url: string; believesManifest: boolean; cacheBytes: number }

export type Message =
  /** To a worker, first: the engine. */
  | { say: "start"; wasm: WasmSource | undefined }
  /** To a worker: calls `method` of the object `on`, or of a store; what comes is kept as the object `keep`. The last argument is `room` bytes. */
  | { say: "call"; id: number; on: number | StoreFacts; method: string; args: unknown[]; keep?: number | undefined; room?: number | undefined }
  /** To a worker: nobody waits for the call any more, or will use the object or the store again. */
  | { say: "abort"; id: number }
  | { say: "free"; object: number }
  /** To the page: calls `method` of a store's bridge. */
  | { say: "ask"; id: number; store: number; method: "read" | "readAll" | "size" | "list" | "put" | "remove"; args: unknown[] }
  | { say: "drop"; id: number }
  /** Either way: what came of a call. */
  | { say: "done"; id: number; value?: unknown; error?: Failure };

/** An error as it goes from one side to the other. */
export interface Failure { name: string; message: string; code?: string | undefined }

export function failure(error: unknown): Failure {
  const { name = "Error", message = String(error), code } = (error ?? {}) as Partial<Failure>;
  return { name, message, ...(typeof code === "string" ? { code } : {}) };
}

/** The error again, with its name and code. */
export function thrown({ name, message, code }: Failure): Error {
  return Object.assign(new Error(message), { name }, code === undefined ? {} : { code });
}
