// A pool worker in Node.
import { parentPort } from "node:worker_threads";
import type { Message } from "./messages.js";
import { serve } from "./worker.js";

const tell = serve({ post: (message, transfer = []) => parentPort?.postMessage(message, [...transfer]) });
parentPort?.on("message", (message: Message) => tell(message));
