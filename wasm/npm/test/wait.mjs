// Waits for events instead of fixed times, so that tests pass on a busy machine.

/** Waits up to a minute until `done`, and returns whether it is. Timers and sockets run between checks. */
export async function until(done) {
  const end = Date.now() + 60_000;
  while (!done() && Date.now() < end) await turn();
  return done();
}

/** Lets timers and sockets run. */
export const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A promise, and the function that resolves it. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => { open = resolve; });
  return { opened, open };
}
