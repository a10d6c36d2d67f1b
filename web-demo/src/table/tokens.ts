// The tokens of a condition, for completion. The engine parses and checks conditions.

export interface Token {
  kind: "name" | "text" | "number" | "operator" | "open" | "close" | "comma";
  /** Without quotes. Words in lower case are compared as keywords. */
  text: string;
  from: number;
  to: number;
  /** Whether the closing quote is missing. */
  open: boolean;
}

const PLAIN: readonly [Token["kind"], RegExp][] = [
  ["number", /^[+-]?\.?\d[\w.+-]*/],
  ["name", /^[\p{L}_][\p{L}\p{N}_.]*/u],
  ["operator", /^[<>=!&|~]+/],
  ["open", /^[([]/],
  ["close", /^[)\]]/],
  ["comma", /^,/],
];

/** Splits a condition, or its beginning, into tokens. Other characters are skipped. */
export function tokensOf(condition: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < condition.length) {
    const rest = condition.slice(at);
    const quote = rest[0] ?? "";
    if ("'\"`".includes(quote)) {
      const token = quoted(rest, quote, at);
      tokens.push(token);
      at = token.to;
      continue;
    }
    const [kind, found] = PLAIN.map(([kind, pattern]) => [kind, pattern.exec(rest)?.[0]] as const).find(([, found]) => found) ?? [];
    if (kind && found) tokens.push({ kind, text: found, from: at, to: at + found.length, open: false });
    at += found?.length ?? 1;
  }
  return tokens;
}

/** A quoted text or name. A doubled quote stands for one. */
function quoted(rest: string, quote: string, from: number): Token {
  const kind = quote === "`" ? "name" : "text";
  let text = "";
  for (let i = 1; i < rest.length; i += 1) {
    if (rest[i] !== quote) text += rest[i];
    else if (rest[i + 1] === quote) {
      text += quote;
      i += 1;
    } else return { kind, text, from, to: from + i + 1, open: false };
  }
  return { kind, text, from, to: from + rest.length, open: true };
}
