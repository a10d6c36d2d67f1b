// The messages between a page and its workers.
import type { Part } from "./engine.js";
import type { RawArray, RawBatches, RawStore, RawView, RawWriter } from "./core.js";

/** The engine's store, in this thread or in workers. */
export interface Engine {
  open(...args: Parameters<RawStore["open"]>): Promise<EngineArray>;
  view(...args: Parameters<RawStore["view"]>): Promise<EngineView>;
}
export type EngineArray = Pick<
  RawArray,
  | "attrs" | "consolidate" | "count" | "countDeleted" | "deleteCells" | "describe" | "dims" | "enumeration" | "evolve" | "explain" | "fragments" | "get" | "metadata" | "nonEmptyDomain" | "put" | "schema" | "times" | "vacuum" | "writeTime"
> & {
  at(...args: Parameters<RawArray["at"]>): Promise<EngineArray>;
  query(...args: Parameters<RawArray["query"]>): EngineBatches;
  view(...args: Parameters<RawArray["view"]>): Promise<EngineView>;
  writer(...args: Parameters<RawArray["writer"]>): Promise<EngineWriter>;
};
export type EngineBatches = Pick<RawBatches, "next" | "free">;
export type EngineWriter = Pick<RawWriter, "abandon" | "finish" | "free" | "push">;
export type EngineView = Pick<RawView, "list" | "read" | "stat">;

/** Sends messages: from the page to a worker, or from a worker to the page. */
export interface Port {
  post(message: Message, transfer?: readonly ArrayBuffer[]): void;
  /** Sets whether calls are pending, which keeps Node from exiting. */
  busy?(yes: boolean): void;
  close?(): void;
}

/** The synchronous properties of an array. */
export interface Facts { attrs: string; dims: string; fragments: string; nonEmptyDomain: string; schema: string; times: string }

/** The properties of a store that a worker needs. */
export interface StoreFacts { number: number; url: string; believesManifest: boolean; tileCacheBytes: number }

export type Message =
  /** To a worker: a file of the engine, compiled. The core comes first. */
  | { type: "wasm"; part: Part; module?: WebAssembly.Module; error?: Failure }
  /** To the page: asks for a file of the engine. */
  | { type: "part"; part: Part }
  /** To a worker: calls `method` of the object or store `on`, and keeps the result as the object `keep`. With `room`, the worker adds a buffer of that many bytes as the last argument. */
  | { type: "call"; id: number; on: number | StoreFacts; method: string; args: unknown[]; keep?: number | undefined; room?: number | undefined }
  /** To a worker: cancels a call, or frees an object or a store. */
  | { type: "abort"; id: number }
  | { type: "free"; object: number }
  /** To the page: calls `method` of a store's bridge. */
  | { type: "ask"; id: number; store: number; method: "read" | "readAll" | "size" | "list" | "put" | "remove" | "begin" | "append" | "end"; args: unknown[] }
  | { type: "drop"; id: number }
  /** In both directions: the result of a call. A worker adds the size of its memory. */
  | { type: "done"; id: number; value?: unknown; error?: Failure; memory?: number };

/** An error in a message. */
export interface Failure { name: string; message: string; code?: string | undefined }

export function failure(error: unknown): Failure {
  const { name = "Error", message = String(error), code } = (error ?? {}) as Partial<Failure>;
  return { name, message, ...(typeof code === "string" ? { code } : {}) };
}

/** Restores an error with its name and code. */
export function thrown({ name, message, code }: Failure): Error {
  return Object.assign(new Error(message), { name }, code === undefined ? {} : { code });
}
