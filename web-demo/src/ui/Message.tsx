// An error or a hint over the main area.
import type { ComponentChild } from "preact";
import { CopyButton } from "./CopyButton";

/** Shows the error, or else the hint, or nothing. */
export function Message({ text, hint, id = "message" }: { text: string | undefined; hint: string | undefined; id?: string }) {
  const shown = text ?? hint;
  return <div id={id} role="alert" hidden={shown === undefined} class={text === undefined ? "message hint" : "message"}>{shown === undefined ? null : parts(shown)}</div>;
}

/** What to run and headers to add: between backquotes, and a header's name and value between quotes. */
const LINES = /`([^`]+)`|"([A-Z][a-z]+(?:-[A-Za-z]+)+: [^"]+)"/g;

/** Commands of this project that run nothing else. Text of links and data may stand in messages, too, and is never offered as a command. */
const OWN = /^(hyperslab|cargo xtask) [^`;|&$<>(){}\n\r\\]*$/;

/** The text, with a button to copy each command and header in it. */
function parts(text: string) {
  const found: ComponentChild[] = [];
  let from = 0;
  for (const match of text.matchAll(LINES)) {
    const line = match[1] ?? match[2] ?? "";
    const canCopy = match[1] === undefined || OWN.test(line);
    found.push(text.slice(from, match.index), <span key={match.index} class="line"><code>{line}</code>{canCopy && <> <CopyButton text={line} what={line} /></>}</span>);
    from = match.index + match[0].length;
  }
  return [...found, text.slice(from)];
}
