// Starts a browser through WebDriver (https://www.w3.org/TR/webdriver2/). HYPERSLAB_BROWSER chooses it: chromium, firefox
// or webkit.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";

/** The browser that runs the tests. */
export const browser = process.env.HYPERSLAB_BROWSER || "chromium";

/** Whether the tests run with WebAssembly SIMD. V8 has none on processors without SSE 4.1, which a flag imitates. */
export const simd = process.env.HYPERSLAB_SIMD !== "off";

const MINI_BROWSERS = ["x86_64", "aarch64"].map((cpu) => `/usr/lib/${cpu}-linux-gnu/webkit2gtk-4.1/MiniBrowser`);

/** How each browser's driver is started, and what a session asks of it. */
const BROWSERS = {
  chromium: (port) => ({
    driver: ["chromedriver", `--port=${port}`],
    capabilities: {
      "goog:chromeOptions": {
        binary: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: ["--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run", ...(simd ? [] : ["--js-flags=--no-enable-sse4-1"])],
      },
      "goog:loggingPrefs": { browser: "ALL" },
    },
  }),
  firefox: (port) => ({
    driver: ["geckodriver", "--port", `${port}`],
    capabilities: { "moz:firefoxOptions": { binary: process.env.FIREFOX ?? "/usr/bin/firefox-esr", args: ["-headless"] } },
  }),
  // It needs a display; `xvfb-run` gives it one.
  webkit: (port) => ({
    driver: ["WebKitWebDriver", `--port=${port}`],
    capabilities: { "webkitgtk:browserOptions": { binary: MINI_BROWSERS.find(existsSync) ?? "MiniBrowser", args: ["--automation"] } },
  }),
};

/** Starts the browser with a fresh profile. `more` has further capabilities of the session. */
export async function launch(more = {}) {
  const port = await freePort();
  const { driver: [program, ...args], capabilities } = BROWSERS[browser](port);
  const driver = spawn(program, args, { stdio: "ignore" });
  const failed = new Promise((_, reject) => driver.on("error", (error) => reject(new Error(`${program}: ${error.message}; run \`cargo xtask setup\``))));
  failed.catch(() => {});
  const ask = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...(body ? { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } } : {}) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${browser}: ${value.error}: ${value.message}`);
    return value;
  };
  try {
    await Promise.race([failed, answers(() => ask("GET", "/status"))]);
    const { sessionId, capabilities: found } = await ask("POST", "/session", { capabilities: { alwaysMatch: { ...capabilities, ...more } } });
    return new Session((method, path, body) => ask(method, `/session/${sessionId}${path}`, body), driver, found.browserVersion);
  } catch (error) {
    driver.kill();
    throw error;
  }
}

/** A browser with one page. */
class Session {
  constructor(ask, driver, version) {
    Object.assign(this, { ask, driver, version });
  }

  async visit(url) {
    await this.ask("POST", "/url", { url });
  }

  async title() {
    return this.ask("GET", "/title");
  }

  /** Runs the body of a function in the page, and returns its result. */
  async run(script, ...args) {
    return this.ask("POST", "/execute/sync", { script, args });
  }

  /** Runs code that calls `done` with its result. */
  async runAsync(script) {
    return this.ask("POST", "/execute/async", { script: `const done = arguments[arguments.length - 1]; ${script}`, args: [] });
  }

  /** Waits until the body of a function returns a value in the page. */
  async wait(script) {
    const end = Date.now() + 60_000;
    for (;;) {
      const found = await this.run(script);
      if (found !== null && found !== undefined) return found;
      if (Date.now() > end) throw new Error(`the page does not answer \`${script}\`: ${await this.errors()}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  /** A picture of the page: a PNG file in base64. */
  async screenshot() {
    return this.ask("GET", "/screenshot");
  }

  /** Moves the mouse by a list of WebDriver's pointer actions. */
  async act(actions) {
    await this.ask("POST", "/actions", { actions: [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }] });
  }

  /** The errors that the page logged or did not catch, since the last call. Only Chromium's driver has them. */
  async errors() {
    if (browser !== "chromium") return [];
    const entries = await this.ask("POST", "/se/log", { type: "browser" });
    return entries.filter(({ level }) => level === "SEVERE").map(({ message }) => message);
  }

  async close() {
    await this.ask("DELETE", "").catch(() => {});
    this.driver.kill();
  }
}

async function answers(ask) {
  for (let i = 0; ; i += 1) {
    try {
      return await ask();
    } catch (error) {
      if (i === 300) throw error;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

/** A port that no program listens at. */
export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
