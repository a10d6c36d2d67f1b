// Counts requests and bytes, and tells whoever shows them.

let requests = 0;
let bytes = 0;
let show: (requests: number, bytes: number) => void = () => {};

export function onTraffic(listener: typeof show): void {
  show = listener;
  show(requests, bytes);
}

/** Called by the package once for each request that has come back. */
export function countRequest(event: { bytes: number }): void {
  requests += 1;
  bytes += event.bytes;
  show(requests, bytes);
}
