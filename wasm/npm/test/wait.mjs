// Waiting for what happens, not for how long it takes: a busy machine is late, and that is no failure.

/** Waits until `done`, or for a minute; tells which. Between its looks, timers and sockets have their turn. */
export async function until(done) {
  const end = Date.now() + 60_000;
  while (!done() && Date.now() < end) await turn();
  return done();
}

/** Lets everything else have its turn. */
export const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

/** What others can wait for, and what lets them go. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => { open = resolve; });
  return { opened, open };
}
