// Hears of aborts.

/** Who waits for a signal. The signal itself has one listener, because Node warns of a leak from eleven on. */
const heard = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `stop` when the signal is aborted. Returns a function that ends this. */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  const waiting = heard.get(signal) ?? begun(signal);
  // Wrapped, so that equal functions count twice.
  const own = () => stop();
  waiting.add(own);
  return () => waiting.delete(own);
}

function begun(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>();
  heard.set(signal, waiting);
  signal.addEventListener("abort", () => {
    const all = [...waiting];
    waiting.clear();
    for (const stop of all) stop();
  }, { once: true });
  return waiting;
}
