// The pool in Node, with worker threads.
import { Worker } from "node:worker_threads";
import { packageFile } from "./disk.js";
import { provideWorkers } from "./pool.js";
import "./node.js";

provideWorkers((hear, fail, script) => {
  // Without the options of this process: a worker does not start with those of `node --input-type=module -e …`.
  const worker = new Worker(script ?? packageFile("worker-node.js"), { execArgv: [] });
  worker.on("message", hear);
  worker.on("error", fail);
  return {
    post: (message, transfer = []) => worker.postMessage(message, [...transfer]),
    busy: (yes) => (yes ? worker.ref() : worker.unref()),
    close: () => void worker.terminate(),
  };
});

export * from "./pool.js";
