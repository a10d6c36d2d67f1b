// Runs in the page: loads a reader, then does one phase after the other when the runner asks.
const { reader: name, options, url, cells } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const sum = (values) => { let total = 0; for (const value of values) total += Number(value); return total; };

/** The longest time in which the event loop did not turn. */
class Turns {
  longest = 0;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    let last = performance.now();
    port1.onmessage = () => {
      const now = performance.now();
      this.longest = Math.max(this.longest, now - last);
      last = now;
      if (!this.ended) port2.postMessage(0);
    };
    port2.postMessage(0);
  }

  end() {
    this.ended = true;
    return this.longest;
  }
}

let reader, began;
const first = () => { const [top, left, side] = cells.window; return reader.box(top, left, side, side); };
const phases = {
  open: async () => { await reader.open(url); return []; },
  window: first,
  revisit: first,
  pixel: () => reader.cells([cells.pixels[0]]),
  random: () => reader.cells(cells.pixels),
  whole: () => reader.box(0, 0, cells.side, cells.side),
  box: () => reader.box(cells.box),
  /** A slider: every 16 ms the next of 60 boxes, and the previous read is aborted. Counts from the last one on. */
  scrub: async () => {
    let last, controller;
    for (let step = 1; step <= 60; step += 1) {
      controller?.abort();
      controller = new AbortController();
      began = performance.now();
      last = Promise.resolve(reader.box(2000, step * 32, 512, 512, controller.signal));
      last.catch(() => {});
      if (step < 60) await new Promise((done) => setTimeout(done, 16));
    }
    // In some libraries, one caller's abort fails the reads of others, which a program must then repeat.
    return last.catch(() => reader.box(2000, 60 * 32, 512, 512));
  },
};

/** Runs a phase, and returns its milliseconds, the sum of what it read, and the longest turn of the event loop. */
globalThis.phase = async (phase) => {
  const turns = new Turns();
  began = performance.now();
  const values = await phases[phase]();
  const ms = performance.now() - began;
  const longest = turns.end();
  return { ms, answer: sum(values), longest };
};

// A variable, because bundlers look for files that match a template.
const path = `./readers/${name}.js`;
const module = await import(path);
reader = module[cells.found === undefined ? "dense" : "sparse"](options);
await reader.ready();
globalThis.ready = performance.now();
