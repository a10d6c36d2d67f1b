// Counts requests and bytes for display.

let requests = 0;
let bytes = 0;
let show: (requests: number, bytes: number) => void = () => {};

export function onTraffic(listener: typeof show): void {
  show = listener;
  show(requests, bytes);
}

/** The package calls this for each finished request. */
export function countRequest(event: { bytes: number }): void {
  requests += 1;
  bytes += event.bytes;
  show(requests, bytes);
}
