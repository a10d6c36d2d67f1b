/**
 * The kind of an error. These codes are stable.
 * - `NotFound`: there is no such array, group, member, enumeration or file.
 * - `AlreadyExists`: the array, the group or the file exists.
 * - `Corrupt`, `UnsupportedVersion`: a file has invalid content, or a format version that this release does not read.
 * - `Unsupported`: the browser, the store or the array cannot do this.
 * - `Key`: the encryption key is missing or wrong.
 * - `InvalidArgument`, `LimitExceeded`: an argument is wrong, or the result would be too large.
 * - `Cancelled`: the pool was closed, or the store was garbage-collected.
 * - `Io`: a request or a file failed.
 */
export type ErrorCode =
  | "NotFound" | "AlreadyExists" | "Corrupt" | "UnsupportedVersion" | "Unsupported"
  | "Key" | "InvalidArgument" | "LimitExceeded" | "Cancelled" | "Io";

/** The error class of this package. An aborted call instead rejects with its signal's reason. */
export class HyperslabError extends Error {
  /** `"HyperslabError"`, also in copies of this package, for which `instanceof` fails. */
  override readonly name = "HyperslabError";

  /** Stores of your own may throw it too; the code reaches the caller. */
  constructor(
    /** The kind of the error. */
    readonly code: ErrorCode, message: string, options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Whether `error` is a {@link HyperslabError}, including one from another copy of this package.
 *
 * @example
 * ```js
 * import { isHyperslabError, open } from "hyperslab";
 *
 * const array = await open("https://example.org/arrays/nothing").catch((error) => {
 *   if (isHyperslabError(error) && error.code === "NotFound") return undefined;
 *   throw error;
 * });
 * console.log(array);
 * ```
 *
 * ```text
 * undefined
 * ```
 */
export function isHyperslabError(error: unknown): error is HyperslabError {
  return error instanceof Error && error.name === "HyperslabError" && "code" in error;
}
