// A pool worker in Node.
import { parentPort } from "node:worker_threads";
import type { Message } from "./messages.js";
import { serve } from "./worker.js";

const handle = serve({ post: (message, transfer = []) => parentPort?.postMessage(message, [...transfer]) });
parentPort?.on("message", (message: Message) => handle(message));
