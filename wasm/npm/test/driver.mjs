// A WebDriver server (https://www.w3.org/TR/webdriver2/): its process, and requests with deadlines.
import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:net";

/** A driver that could not be started, because its program is missing. */
export class MissingDriver extends Error {}

/** The process of a driver. Its errors name the browser, the request and what to do. */
export class Driver {
  /** Starts a program that listens at a port, with more variables in its environment. */
  constructor(browser, port, [program, ...args], env = {}) {
    Object.assign(this, { browser, port, program });
    this.process = spawn(program, args, { stdio: "ignore", env: { ...process.env, ...env } });
    this.ended = new Promise((_, reject) => {
      this.process.on("error", (error) => reject(new MissingDriver(`${program}: ${error.message}; run \`cargo xtask setup\``)));
      this.process.on("exit", (code, signal) => reject(new Error(`${program} ended (${signal ?? `code ${code}`})`)));
    });
    this.ended.catch(() => {});
  }

  /** Waits until the driver listens. */
  async listens(seconds) {
    const end = Date.now() + 1000 * seconds;
    for (;;) {
      try {
        return await this.ask("GET", "/status", undefined, seconds);
      } catch (error) {
        if (error instanceof MissingDriver || this.process.exitCode !== null || Date.now() > end) throw error;
        await new Promise((done) => setTimeout(done, 50));
      }
    }
  }

  /** Sends a request, and returns the value of the answer. */
  async ask(method, path, body, seconds) {
    const signal = AbortSignal.timeout(1000 * seconds);
    const sent = { method, signal, ...(body ? { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } } : {}) };
    let response, value;
    try {
      response = await Promise.race([this.ended, fetch(`http://127.0.0.1:${this.port}${path}`, sent)]);
      ({ value } = await Promise.race([this.ended, response.json()]));
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new Error(`${this.program} did not answer ${method} ${path} within ${seconds} s`);
    }
    if (!response.ok) throw new Error(`${this.browser}: ${value.error}: ${value.message}`);
    return value;
  }

  /** Kills the driver and the browser that it started. */
  kill() {
    for (const pid of [...descendants(this.process.pid), this.process.pid]) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    }
  }
}

/** The processes that a process started, and those that they started. */
function descendants(pid) {
  if (pid === undefined) return [];
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n").map((row) => row.trim().split(/\s+/).map(Number));
  const found = [pid];
  // The list grows while it is walked.
  for (const parent of found) found.push(...rows.filter(([, of]) => of === parent).map(([child]) => child));
  return found.slice(1);
}

/** A port that no program listens at. */
export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
