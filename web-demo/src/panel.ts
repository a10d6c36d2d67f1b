// The side panel: the catalog of arrays, and the controls and properties of the open one.
import { MAPS } from "./colours.js";
import type { Source } from "./source.js";
import * as text from "./text.js";

/** An array of the catalog, which is `arrays.json` in the page's folder. */
export interface Listed { title: string; url: string; about: string; attribution?: string; map?: string; attribute?: string }

export function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export async function listed(): Promise<Listed[]> {
  const answer = await fetch("arrays.json");
  return answer.ok ? ((await answer.json()) as Listed[]) : [];
}

export function showCatalog(arrays: Listed[], pick: (a: Listed) => void): void {
  element("catalog").replaceChildren(...arrays.map((a) => {
    const button = document.createElement("button");
    const about = document.createElement("small");
    about.textContent = a.about;
    button.append(a.title, about);
    button.dataset["url"] = a.url;
    button.onclick = () => pick(a);
    return button;
  }));
}

export function markCurrent(url: string): void {
  for (const b of element("catalog").querySelectorAll("button")) {
    b.setAttribute("aria-current", String(b.dataset["url"] === url));
  }
}

export function fill(select: HTMLSelectElement, options: string[], chosen: string): void {
  select.replaceChildren(...options.map((o) => new Option(o || "(unnamed)", o, false, o === chosen)));
}

export function showControls(source: Source, attribute: string, map: string, move: (axis: number, to: number) => void): void {
  fill(element("attribute"), source.drawable(), attribute);
  fill(element("colours"), MAPS, map);
  const axes = source.dense ? source.axes().slice(0, -2) : [];
  element("axes").replaceChildren(...axes.map((axis, i) => {
    const label = document.createElement("label");
    const output = document.createElement("output");
    const input = document.createElement("input");
    Object.assign(input, { type: "range", min: String(axis.lo), max: String(axis.hi), value: String(axis.lo) });
    output.textContent = source.shown(axis.name, axis.lo);
    input.oninput = () => { output.textContent = source.shown(axis.name, Number(input.value)); move(i, Number(input.value)); };
    label.append(`${axis.name} `, output, input);
    return label;
  }));
  element("controls").hidden = false;
}

export function showFacts(source: Source): void {
  const { array } = source;
  const fragments = array.fragments();
  const rows: [string, string][] = [
    ["Kind", array.kind],
    ...source.axes().map((a): [string, string] => [a.name || "dimension", `${a.type}, ${source.shown(a.name, a.lo)} … ${source.shown(a.name, a.hi)}${a.extent ? `, tile ${text.number(a.extent)}` : ""}`]),
    ...array.attrs.map((a): [string, string] => [a.name || "attribute", `${a.type}${a.nullable ? ", nullable" : ""}${a.enumeration === undefined ? "" : `, enumeration ${a.enumeration}`}${a.cell === "var" ? ", variable length" : ""}`]),
    ["Fragments", String(fragments.length)],
    ["Stored", text.bytes(fragments.reduce((n, f) => n + Number(f.bytes), 0))],
  ];
  const table = document.createElement("table");
  for (const [name, what] of rows) {
    const row = table.insertRow();
    const th = document.createElement("th");
    th.textContent = name;
    row.append(th);
    row.insertCell().textContent = what;
  }
  element("facts").replaceChildren(table);
  element("facts").hidden = false;
}

/** Shows an error or a hint over the picture; `undefined` hides it. */
export function say(message: string | undefined, kind: "error" | "hint" = "error"): void {
  const box = element("message");
  box.hidden = message === undefined;
  box.className = kind === "hint" ? "hint" : "";
  if (message !== undefined && box.textContent !== message) box.textContent = message;
}

export function showTip(rows: [string, string][] | undefined, x: number, y: number): void {
  const tip = element("tip");
  tip.hidden = rows === undefined;
  if (!rows) return;
  const table = document.createElement("table");
  for (const [name, what] of rows) {
    const row = table.insertRow();
    const th = document.createElement("th");
    th.textContent = name;
    row.append(th);
    row.insertCell().textContent = what;
  }
  tip.replaceChildren(table);
  const room = tip.parentElement as HTMLElement;
  tip.style.left = `${Math.min(x + 14, room.clientWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(y + 14, room.clientHeight - tip.offsetHeight - 40)}px`;
}
