/** The kind of an error. These codes are stable. */
export type ErrorCode =
  | "NotFound" | "AlreadyExists" | "Corrupt" | "UnsupportedVersion" | "Unsupported"
  | "Key" | "InvalidArgument" | "LimitExceeded" | "Cancelled" | "Io";

/** The error class of this package. An aborted call instead rejects with its signal's reason. */
export class HyperslabError extends Error {
  override readonly name = "HyperslabError";

  constructor(readonly code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Whether `error` is a {@link HyperslabError}, including one from another copy of this package. */
export function isHyperslabError(error: unknown): error is HyperslabError {
  return error instanceof Error && error.name === "HyperslabError" && "code" in error;
}
