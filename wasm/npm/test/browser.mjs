// Starts a browser through WebDriver (https://www.w3.org/TR/webdriver2/). HYPERSLAB_BROWSER chooses it: chromium, firefox
// or webkit.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Driver, MissingDriver, freePort } from "./driver.mjs";

/** The browser that runs the tests. */
export const browser = process.env.HYPERSLAB_BROWSER || "chromium";

/** Whether the tests run with WebAssembly SIMD. V8 has none on processors without SSE 4.1, which a flag imitates. */
export const simd = process.env.HYPERSLAB_SIMD !== "off";

const MINI_BROWSERS = ["x86_64", "aarch64"].map((cpu) => `/usr/lib/${cpu}-linux-gnu/webkit2gtk-4.1/MiniBrowser`);

/**
 * How each browser's driver is started, and what a session asks of it. `downloads` is where files are saved; `dark` asks for
 * dark colours, `reducedMotion` for less motion (not in WebKit). `webgl` says whether pages have WebGL, which Firefox has only with a display.
 */
const BROWSERS = {
  chromium: (port, { downloads, dark, reducedMotion, webgl }) => ({
    driver: ["chromedriver", `--port=${port}`],
    capabilities: {
      "goog:chromeOptions": {
        binary: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: [
          "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking",
          ...(webgl === false ? ["--disable-3d-apis"] : []), ...(dark ? ["--blink-settings=preferredColorScheme=0"] : []),
          ...(reducedMotion ? ["--force-prefers-reduced-motion"] : []), ...(simd ? [] : ["--js-flags=--no-enable-sse4-1"]),
        ],
        ...(downloads ? { prefs: { "download.default_directory": downloads, "profile.default_content_setting_values.automatic_downloads": 1 } } : {}),
      },
      "goog:loggingPrefs": { browser: "ALL" },
    },
  }),
  firefox: (port, { downloads, dark, reducedMotion, webgl }) => ({
    driver: ["geckodriver", "--port", `${port}`],
    capabilities: {
      "moz:firefoxOptions": {
        binary: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
        args: webgl ? [] : ["-headless"],
        prefs: {
          "webgl.disabled": webgl === false,
          "layout.css.prefers-color-scheme.content-override": dark ? 0 : 1,
          "ui.prefersReducedMotion": reducedMotion ? 1 : 0,
          ...(downloads ? { "browser.download.dir": downloads, "browser.download.folderList": 2, "browser.download.alwaysOpenPanel": false } : {}),
        },
      },
    },
  }),
  // It needs a display; `xvfb-run` gives it one.
  webkit: (port, { downloads, dark, webgl }) => ({
    driver: ["WebKitWebDriver", `--port=${port}`],
    env: { ...(downloads ? { XDG_CONFIG_HOME: downloadsOnly(downloads) } : {}), ...(dark ? { GTK_THEME: "Adwaita:dark" } : {}) },
    capabilities: { "webkitgtk:browserOptions": { binary: MINI_BROWSERS.find(existsSync) ?? "MiniBrowser", args: ["--automation", ...(webgl === false ? ["--enable-webgl=false"] : [])] } },
  }),
};

/** A folder of settings by which GTK saves files to `downloads`. */
function downloadsOnly(downloads) {
  const settings = join(downloads, ".config");
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, "user-dirs.dirs"), `XDG_DOWNLOAD_DIR="${downloads}"\n`);
  return settings;
}

/** How often a browser is started. A driver sometimes fails to start its browser, or never answers. */
const TRIES = 3;

/**
 * Starts the browser with a fresh profile. `more` has further capabilities of the session. Each start and each request
 * must be answered within its number of seconds. The other options are those of `BROWSERS`.
 */
export async function launch(more = {}, { startSeconds = 60, answerSeconds = 120, ...wanted } = {}) {
  for (let n = 1; ; n += 1) {
    const port = await freePort();
    const { driver: command, env, capabilities } = BROWSERS[browser](port, wanted);
    const driver = new Driver(browser, port, command, env);
    try {
      await driver.listens(startSeconds);
      const { sessionId, capabilities: found } = await driver.ask("POST", "/session", { capabilities: { alwaysMatch: { ...capabilities, ...more } } }, startSeconds);
      return new Session((method, path, body) => driver.ask(method, `/session/${sessionId}${path}`, body, answerSeconds), driver, found.browserVersion);
    } catch (error) {
      driver.kill();
      if (error instanceof MissingDriver) throw error;
      const what = `${browser} did not start in try ${n} of ${TRIES}: ${error.message}`;
      if (n === TRIES) throw new Error(`${what}; check its installation with \`cargo xtask setup\`, then run the tests again`, { cause: error });
      console.error(`${what}; starting it again`);
    }
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
