// The JavaScript in Markdown pages, and the output that the pages show.
//
// - A block `js` is a module. The block `text` that follows it is what it logs; `…` replaces text that differs between runs.
// - `<!-- in a page -->` above a block: it runs in a browser. `<!-- file NAME -->`: it is a script that pages load.
// - A comment that begins with `<!-- js` has lines that run before the next block, and `<!-- check` lines that run after
//   the last one. Readers do not see them.
// - A block `js,no_run` is not run; the comment above it says why. A block `ts` is checked by the compiler and not run.

/** The blocks of a page: `{ line, kind: "node" | "page" | "file" | "types" | "none", code, output, name }`. */
export function blocks(markdown) {
  const found = [];
  const lines = markdown.split("\n");
  let before = "";
  let setup = "";
  for (let at = 0; at < lines.length; at += 1) {
    const [, language] = /^```(\S+)/.exec(lines[at]) ?? [];
    const [, hidden] = /^<!-- (js|check)$/.exec(lines[at]) ?? [];
    if (!language && !hidden) {
      if (lines[at].trim()) before = lines[at];
      continue;
    }
    const end = lines.indexOf(language ? "```" : "-->", at + 1);
    if (end < 0) throw new Error(`line ${at + 1}: the block does not end`);
    const code = lines.slice(at + 1, end).join("\n");
    if (hidden === "js") setup = `${code}\n`;
    else if (hidden === "check") found.at(-1).code += `\n${code}`;
    else if (["js", "js,no_run", "ts"].includes(language)) {
      const [, name] = /^<!-- file (\S+) -->$/.exec(before) ?? [];
      const kind = language === "ts" ? "types" : language === "js,no_run" ? "none" : name ? "file" : before === "<!-- in a page -->" ? "page" : "node";
      found.push({ line: at + 1, kind, name, before, code: setup + code, output: undefined });
      setup = "";
    } else if (language === "text" && before === "```js" && found.length > 0) found.at(-1).output = code;
    before = language ? `\`\`\`${language}` : before;
    at = end;
  }
  return found;
}

/** Whether a page shows this output. */
export function matches(shown, actual) {
  const trimmed = (text) => text.trim().split("\n").map((line) => line.trimEnd()).join("\n");
  const parts = trimmed(shown).split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*?")}$`).test(trimmed(actual));
}
