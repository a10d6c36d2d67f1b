// Completes a condition: names of columns, operators, and the values of enumerations.
import type { Field } from "./field";
import { tokensOf, type Token } from "./tokens";

/** What can be inserted in place of the characters from `from` to `to`. */
export interface Completion { from: number; to: number; options: readonly Option[] }
export interface Option { label: string; insert: string; hint: string }

const OPTIONS_MAX = 50;
/** How many values of an enumeration are searched. */
const LABELS_MAX = 20_000;
const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="];

/** The completion at the caret. */
export function complete(condition: string, caret: number, fields: readonly Field[]): Completion {
  const before = tokensOf(condition.slice(0, caret));
  const typed = before.at(-1);
  // The token that the caret touches is being typed.
  const current = typed && (typed.open || (typed.to === caret && /name|text|number|operator/.test(typed.kind))) ? before.pop() : undefined;
  const from = current?.from ?? caret;
  const options = optionsAfter(before, current, fields).map((option) => ({ ...option, insert: `${option.insert} ` }));
  return { from, to: endOf(condition, caret, current), options: rank(options, current?.text ?? "") };
}

/** The rest of a word behind the caret is replaced too, and the spaces after it. */
function endOf(condition: string, caret: number, current: Token | undefined): number {
  const rest = condition.slice(caret);
  const word = current?.kind === "name" ? (/^[\p{L}\p{N}_.]*/u.exec(rest)?.[0].length ?? 0) : 0;
  return caret + word + (/^\s*/.exec(rest.slice(word))?.[0].length ?? 0);
}

/** What may follow the tokens. */
function optionsAfter(before: readonly Token[], current: Token | undefined, fields: readonly Field[]): Option[] {
  const last = before.at(-1);
  const word = last?.kind === "name" ? last.text.toLowerCase() : undefined;
  const isQuoted = current?.kind === "text";
  if (!last || last.kind === "open" && !listField(before, fields) || word === "and" || word === "or" || (word === "not" && !fieldBefore(before.slice(0, -1), fields))) {
    return isQuoted ? [] : [...fields.map(nameOption), ...(word === "not" ? [] : [keyword("not", "does not meet")])];
  }
  if (word === "is") return [keyword("null", "has no value"), keyword("not null", "has a value")];
  const field = valueField(before, fields);
  if (field) return valuesOf(field, word === "like" || word === "between");
  const named = fieldBefore(before, fields);
  if (named && (last === named.token || word === "not")) return operatorsOf(named.field, word === "not");
  if (last.kind === "close" || last.kind === "text" || last.kind === "number" || word === "null" || word === "true" || word === "false") return isQuoted ? [] : [keyword("and", "both"), keyword("or", "either")];
  return [];
}

/** The column whose values are expected: after a comparison, or in a list. */
function valueField(before: readonly Token[], fields: readonly Field[]): Field | undefined {
  const last = before.at(-1);
  if (last?.kind === "open" || last?.kind === "comma") return listField(before, fields);
  const isComparison = last?.kind === "operator" || (last?.kind === "name" && /^(like|between)$/i.test(last.text));
  return isComparison ? fieldBefore(before.slice(0, -1), fields)?.field : undefined;
}

/** The column of the list that is being typed: `name in ('a', …`. */
function listField(before: readonly Token[], fields: readonly Field[]): Field | undefined {
  const open = before.findLastIndex(({ kind }) => kind === "open");
  const word = before[open - 1];
  if (open < 1 || word?.kind !== "name" || word.text.toLowerCase() !== "in") return undefined;
  if (before.slice(open).some(({ kind }) => kind === "close")) return undefined;
  return fieldBefore(before.slice(0, open - 1), fields)?.field;
}

/** The column named by the last token, or by the one before `not`. */
function fieldBefore(before: readonly Token[], fields: readonly Field[]): { field: Field; token: Token } | undefined {
  const token = before.at(before.at(-1)?.text.toLowerCase() === "not" ? -2 : -1);
  const field = token?.kind === "name" ? fields.find(({ name }) => name === token.text) : undefined;
  return field && token && { field, token };
}

function nameOption({ name, type, labels }: Field): Option {
  return { label: name, insert: quotedName(name), hint: labels ? "category" : type };
}

/** A name as conditions have it: unusual ones and keywords in backquotes. */
export function quotedName(name: string): string {
  if (name === "") return "data";
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !/^(and|or|not|in|is|like|between|null|none|true|false|nan|inf|infinity)$/i.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

function operatorsOf({ sort, nullable }: Field, negated: boolean): Option[] {
  const words = [keyword("in (", "one of a list"), keyword("between", "from … and …"), ...(sort === "text" ? [keyword("like", "% is any text")] : [])];
  if (negated) return words;
  return [...COMPARISONS.map((operator) => keyword(operator, "")), ...words, keyword("not", "not in, not like"), ...(nullable ? [keyword("is null", "has no value"), keyword("is not null", "has a value")] : [])];
}

/** Values to choose from. Text is quoted. */
function valuesOf({ sort, labels }: Field, none: boolean): Option[] {
  if (sort === "bool") return [keyword("true", ""), keyword("false", "")];
  if (!labels || none) return [];
  const isText = /^string_|^char$/.test(labels.type);
  return Array.from({ length: Math.min(labels.length, LABELS_MAX) }, (_, i) => {
    const label = String(labels.at(i));
    return { label, insert: isText ? `'${label.replaceAll("'", "''")}'` : label, hint: "" };
  });
}

function keyword(text: string, hint: string): Option {
  return { label: text, insert: text, hint };
}

/** The options that contain what was typed, those that start with it first. */
function rank(options: readonly Option[], typed: string): Option[] {
  const wanted = typed.toLowerCase();
  const place = ({ label }: Option) => label.toLowerCase().indexOf(wanted);
  const found = options.filter((option) => place(option) >= 0);
  return [...found.filter((option) => place(option) === 0), ...found.filter((option) => place(option) > 0)].slice(0, OPTIONS_MAX);
}
