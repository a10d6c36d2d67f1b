/** What kind of failure it was; these words never change. */
export type ErrorCode =
  | "NotFound" | "AlreadyExists" | "Corrupt" | "UnsupportedVersion" | "Unsupported"
  | "Key" | "InvalidArgument" | "LimitExceeded" | "Cancelled" | "Io";

/** Every failure of this package, except that an aborted call rejects with its signal's reason. */
export class HyperslabError extends Error {
  override readonly name = "HyperslabError";

  constructor(readonly code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Whether `error` is a {@link HyperslabError}, also one of another copy of this package. */
export function isHyperslabError(error: unknown): error is HyperslabError {
  return error instanceof Error && error.name === "HyperslabError" && "code" in error;
}
