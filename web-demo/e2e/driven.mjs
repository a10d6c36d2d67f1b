// A page of a browser that WebDriver drives. The methods have the names and meanings of Playwright's, which cannot drive
// Debian's Firefox and WebKit; of WebDriver's clients, none adds a protocol that all three of them speak.
import { setTimeout as sleep } from "node:timers/promises";
import { writeFileSync } from "node:fs";
import { browser } from "../../wasm/npm/test/browser.mjs";

/** How long a page may take to do what a test waits for. */
const WAIT_MS = 60_000;

/** The code points of keys without a character. */
const KEYS = {
  Backspace: "\uE003", Tab: "\uE004", Enter: "\uE007", Shift: "\uE008", Control: "\uE009", Escape: "\uE00C", Space: " ", PageUp: "\uE00E",
  PageDown: "\uE00F", End: "\uE010", Home: "\uE011", ArrowLeft: "\uE012", ArrowUp: "\uE013", ArrowRight: "\uE014", ArrowDown: "\uE015", Delete: "\uE017",
};

/** Inputs that are set rather than typed into. */
const SET = ["range", "color", "date"];

/**
 * A page. A selector is CSS, or a pair of CSS and the text that the element begins with. Methods that act on an element
 * wait until it is there, visible and enabled.
 */
export class Page {
  #session;
  mouse = new Mouse((sources) => this.#act(sources));
  keyboard = new Keyboard((sources) => this.#act(sources));

  constructor(session) {
    this.#session = session;
  }

  /** Performs actions, and waits until the page has drawn what they did. */
  async #act(actions) {
    await this.#session.ask("POST", "/actions", { actions });
    await this.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
  }

  /** Runs a function in the page with JSON arguments, and returns what its promise resolves to. */
  async evaluate(run, ...args) {
    const script = `const done = arguments[arguments.length - 1];
      Promise.resolve().then(() => (${run})(...arguments[0])).then((value) => done({ value: value === undefined ? null : value }), (error) => done({ error: String(error?.stack ?? error) }));`;
    const { value, error } = await this.#session.ask("POST", "/execute/async", { script, args: [args] });
    if (error) throw new Error(error);
    return value;
  }

  async goto(url) {
    await this.#session.visit("about:blank");
    await this.#session.visit(url);
  }

  async reload() {
    await this.#session.ask("POST", "/refresh", {});
  }

  async goBack() {
    await this.#session.ask("POST", "/back", {});
  }

  async goForward() {
    await this.#session.ask("POST", "/forward", {});
  }

  /** The URL of the page. */
  async url() {
    return this.#session.ask("GET", "/url");
  }

  async title() {
    return this.#session.title();
  }

  async waitForTimeout(ms) {
    await sleep(ms);
  }

  /** Waits until a function returns a true value in the page. */
  async waitForFunction(run, ...args) {
    const end = Date.now() + WAIT_MS;
    while (!(await this.evaluate(run, ...args))) {
      if (Date.now() > end) throw new Error(`the page does not meet ${run} with ${JSON.stringify(args)}`);
      await sleep(50);
    }
  }

  async waitForSelector(selector) {
    await this.#state(selector, ({ visible }) => visible);
  }

  /** What the page knows of the elements that a selector matches. */
  async #found(selector) {
    const [css, text] = [selector].flat();
    return this.evaluate(FIND, css, text);
  }

  /** The first element, once a condition holds for it. */
  async #state(selector, holds = () => true) {
    const end = Date.now() + WAIT_MS / 2;
    for (;;) {
      const [first] = await this.#found(selector);
      if (first && holds(first)) return first;
      if (Date.now() > end) throw new Error(`${first ? `${selector} is hidden, covered or disabled: ${JSON.stringify(first)}` : `there is no ${selector}`}`);
      await sleep(50);
    }
  }

  /** The middle of an element that a click reaches. */
  async #reached(selector) {
    return this.#state(selector, ({ visible, enabled, reached }) => visible && enabled && reached);
  }

  async click(selector, { modifiers = [] } = {}) {
    const { middle } = await this.#reached(selector);
    await this.keyboard.hold(modifiers, () => this.mouse.click(...middle));
  }

  /** Focuses an element, selects its text, and types. Sets inputs without text. */
  async fill(selector, value) {
    const { type } = await this.#state(selector, ({ visible, enabled }) => visible && enabled);
    const [css, text] = [selector].flat();
    await this.evaluate(FOCUS, css, text, SET.includes(type) ? value : null);
    if (SET.includes(type)) return;
    await (value === "" ? this.keyboard.press("Delete") : this.keyboard.type(value));
  }

  async focus(selector) {
    await this.#state(selector);
    const [css, text] = [selector].flat();
    await this.evaluate(FOCUS, css, text, null);
  }

  async press(selector, key) {
    await this.focus(selector);
    await this.keyboard.press(key);
  }

  async check(selector, wanted = true) {
    if ((await this.#state(selector)).checked !== wanted) await this.click(selector);
    await this.#state(selector, ({ checked }) => checked === wanted);
  }

  async isChecked(selector) {
    return (await this.#state(selector)).checked;
  }

  async uncheck(selector) {
    await this.check(selector, false);
  }

  async selectOption(selector, value) {
    await this.#state(selector, ({ enabled }) => enabled);
    await this.evaluate((css, value) => {
      const list = document.querySelector(css);
      list.value = value;
      for (const type of ["input", "change"]) list.dispatchEvent(new Event(type, { bubbles: true }));
    }, selector, value);
  }

  async textContent(selector) {
    return (await this.#state(selector)).text;
  }

  async inputValue(selector) {
    return (await this.#state(selector)).value;
  }

  async getAttribute(selector, name) {
    await this.#state(selector);
    const [css, text] = [selector].flat();
    return this.evaluate(`(css, text, name) => (${ELEMENTS})(css, text)[0].getAttribute(name)`, css, text ?? null, name);
  }

  /** Calls a function in the page with all elements that match. */
  async $$eval(css, run) {
    return this.evaluate(`(css) => (${run})([...document.querySelectorAll(css)])`, css);
  }

  locator(selector) {
    const first = async () => (await this.#found(selector))[0];
    return {
      boundingBox: async () => (await this.#state(selector)).box,
      count: async () => (await this.#found(selector)).length,
      allTextContents: async () => (await this.#found(selector)).map(({ text }) => text),
      isVisible: async () => (await first())?.visible ?? false,
      isHidden: async () => !((await first())?.visible ?? false),
      isDisabled: async () => (await first())?.enabled === false,
      fill: (value) => this.fill(selector, value),
      click: () => this.click(selector),
    };
  }

  /** A picture of what is visible: a PNG file. */
  async screenshot({ path } = {}) {
    const png = Buffer.from(await this.#session.screenshot(), "base64");
    if (path) writeFileSync(path, png);
    return png;
  }
}

/** The elements that a selector matches. Runs in the page. */
const ELEMENTS = `(css, text) => [...document.querySelectorAll(css)].filter((element) => text === null || element.textContent.trim().startsWith(text))`;

/** Describes the elements that a selector matches. */
const FIND = `(css, text) => {
  const visible = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility === "visible";
  return (${ELEMENTS})(css, text ?? null).map((element, i) => {
    const middleOf = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
    const isReached = () => {
      const top = document.elementFromPoint(...middleOf(element.getBoundingClientRect()));
      return top !== null && (element.contains(top) || top.contains(element));
    };
    // Only the first is acted on.
    if (i === 0 && !isReached()) element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    const box = element.getBoundingClientRect();
    return {
      text: element.textContent, value: element.value ?? null, checked: element.checked ?? null, type: element.type ?? null,
      box: { x: box.x, y: box.y, width: box.width, height: box.height }, middle: middleOf(box),
      visible: visible(element), enabled: !element.disabled,
      reached: i === 0 && isReached(),
    };
  });
}`;

/** Focuses an element and selects its text, or sets its value. */
const FOCUS = `(css, text, value) => {
  const [element] = (${ELEMENTS})(css, text ?? null);
  element.focus();
  if (value === null) return void (element.matches("input, textarea") && element.select?.());
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), "value").set.call(element, value);
  for (const type of ["input", "change"]) element.dispatchEvent(new Event(type, { bubbles: true }));
}`;

class Mouse {
  #act;
  #at = [0, 0];
  #scrolled = [0, 0];

  constructor(act) {
    this.#act = act;
  }

  async #pointer(...actions) {
    await this.#act([{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }]);
  }

  async move(x, y, { steps = 1 } = {}) {
    const [fromX, fromY] = this.#at;
    const at = (part) => ({ type: "pointerMove", duration: 0, x: Math.round(fromX + (x - fromX) * part), y: Math.round(fromY + (y - fromY) * part) });
    await this.#pointer(...Array.from({ length: steps }, (_, i) => at((i + 1) / steps)));
    this.#at = [x, y];
  }

  async down() {
    await this.#pointer({ type: "pointerDown", button: 0 });
  }

  async up() {
    await this.#pointer({ type: "pointerUp", button: 0 });
  }

  async click(x, y) {
    await this.move(x, y);
    await this.#pointer({ type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 });
  }

  async wheel(byX, byY) {
    const [x, y] = this.#at.map(Math.round);
    // WebKit's driver scrolls by the difference to the scroll before.
    const [fromX, fromY] = browser === "webkit" ? this.#scrolled : [0, 0];
    const [deltaX, deltaY] = this.#scrolled = [fromX + byX, fromY + byY];
    await this.#act([{ type: "wheel", id: "wheel", actions: [{ type: "scroll", x, y, deltaX, deltaY, duration: 0 }] }]);
  }
}

class Keyboard {
  #act;

  constructor(act) {
    this.#act = act;
  }

  async #keys(actions) {
    await this.#act([{ type: "key", id: "keys", actions }]);
  }

  /** Presses a key, with others before a plus sign. */
  async press(keys) {
    const values = keys.split("+").map((key) => KEYS[key] ?? key);
    await this.#keys([...values.map((value) => ({ type: "keyDown", value })), ...values.toReversed().map((value) => ({ type: "keyUp", value }))]);
  }

  async type(text) {
    await this.#keys([...text].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]));
  }

  /** Holds keys while something is done. */
  async hold(keys, run) {
    const values = keys.map((key) => KEYS[key]);
    if (values.length > 0) await this.#keys(values.map((value) => ({ type: "keyDown", value })));
    await run();
    if (values.length > 0) await this.#keys(values.map((value) => ({ type: "keyUp", value })));
  }
}
