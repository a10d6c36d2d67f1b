// Records the requests that the page sends, for the counter and the request inspector.
import { signal } from "@preact/signals";
import type { RequestEvent } from "hyperslab";

/** A finished request. */
export interface Traffic extends RequestEvent {
  /** When it began, in milliseconds since the page was loaded. */
  start: number;
}

/** The maximum number of requests that are kept, so that memory stays bounded. */
const KEPT_MAX = 500;

/** The number of requests and bytes, and the last requests, oldest first. */
export const traffic = signal<{ requests: number; bytes: number; last: readonly Traffic[] }>({ requests: 0, bytes: 0, last: [] });

/** The package calls this for each finished request. */
export function recordRequest(event: RequestEvent): void {
  const { requests, bytes, last } = traffic.peek();
  const recorded = { ...event, start: performance.now() - event.ms };
  traffic.value = { requests: requests + 1, bytes: bytes + event.bytes, last: [...last.slice(1 - KEPT_MAX), recorded] };
}
