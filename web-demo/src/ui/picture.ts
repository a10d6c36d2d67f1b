// Makes a PNG file of the picture with a title, the axes, the legend and the source of the data. Loaded at the first use.
import { drawnCanvas } from "./drawing";

/** A scale of colours, with the texts at its ends. */
export interface ColourScale { readonly title: string; readonly colormap: Uint8Array; readonly low: string; readonly high: string }

/** The texts around a picture. */
export interface Caption {
  readonly title: string;
  /** Other choices, such as a date, one per line. */
  readonly lines: readonly string[];
  /** The author and the address of the data, one per line. */
  readonly sources: readonly string[];
  readonly scale?: ColourScale | undefined;
  /** The colours of classes or channels. */
  readonly classes?: readonly { readonly color: string; readonly text: string }[] | undefined;
  /** Texts along the axes of a picture without a graticule. Positions are CSS pixels of the canvas. */
  readonly ticks?: { readonly x: readonly Tick[]; readonly y: readonly Tick[] } | undefined;
}

export interface Tick { readonly at: number; readonly text: string }

const MARGIN = 20;
const [TITLE_PX, LINE_PX, BAR_PX] = [20, 17, 12];
const FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
/** The most classes that are listed. */
const CLASSES_MAX = 40;

/** Makes the file. Fails if the page has no picture. */
export async function pictureFile(caption: Caption): Promise<Blob> {
  const drawn = drawnCanvas();
  if (!drawn) throw new Error("There is no picture to save. Wait until it is drawn.");
  const [width, height] = [drawn.clientWidth, drawn.clientHeight];
  const ratio = drawn.width / width;
  // Copy before anything is awaited: the browser discards the pixels after this task.
  const picture = copied(drawn);
  const graticule = document.querySelector<SVGSVGElement>("#graticule");
  const over = graticule ? await imageOf(graticule, width, height) : undefined;
  const page = new Page(width, ratio);
  const canvas = page.start(height + page.measure(caption));
  const g = page.context;
  page.head(caption);
  g.save();
  g.translate(MARGIN, page.y);
  g.beginPath();
  g.rect(0, 0, width, height);
  g.clip();
  g.drawImage(picture, 0, 0, width, height);
  if (over) g.drawImage(over, 0, 0, width, height);
  g.restore();
  page.ticks(caption.ticks, height);
  g.strokeStyle = page.dim;
  g.strokeRect(MARGIN + 0.5, page.y + 0.5, width - 1, height - 1);
  page.y += height + (caption.ticks ? 2 * LINE_PX : LINE_PX);
  page.foot(caption);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("The browser could not make the file. Make the window smaller, and save again."))), "image/png"));
}

/** A canvas that is filled from top to bottom. */
class Page {
  y = MARGIN;
  context!: CanvasRenderingContext2D;
  private readonly style = getComputedStyle(document.body);
  readonly text = this.style.color;
  readonly dim = this.style.getPropertyValue("--dim") ? colourOf("--dim") : this.text;
  private readonly ruler = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;

  constructor(private readonly width: number, private readonly ratio: number) {}

  /** The height of everything but the picture. */
  measure(caption: Caption): number {
    const classes = caption.classes?.length ? this.classRows(caption).length : 0;
    const sources = this.wrapped(caption.sources).length;
    const lines = this.wrapped(caption.lines).length;
    return MARGIN + TITLE_PX + 10 + (lines + (caption.ticks ? 2 : 1) + classes + sources) * LINE_PX + (caption.scale ? 2 * LINE_PX + BAR_PX + 7 : 0) + MARGIN;
  }

  start(height: number): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round((this.width + 2 * MARGIN) * this.ratio), Math.round(height * this.ratio)];
    this.context = canvas.getContext("2d") as CanvasRenderingContext2D;
    this.context.scale(this.ratio, this.ratio);
    this.context.fillStyle = this.style.backgroundColor;
    this.context.fillRect(0, 0, canvas.width, canvas.height);
    this.context.textBaseline = "top";
    return canvas;
  }

  head({ title, lines }: Caption): void {
    this.write(title, MARGIN, `600 ${TITLE_PX - 2}px ${FONT}`, this.text);
    this.y += TITLE_PX + 6;
    for (const line of this.wrapped(lines)) this.line(line);
    this.y += 4;
  }

  foot(caption: Caption): void {
    const { scale, classes = [], sources } = caption;
    if (scale) this.scale(scale);
    if (classes.length > 0) this.classes(caption);
    for (const source of this.wrapped(sources)) this.line(source);
  }

  ticks(ticks: Caption["ticks"], height: number): void {
    const g = this.context;
    g.strokeStyle = g.fillStyle = this.text;
    g.font = `11px ${FONT}`;
    for (const { at, text } of ticks?.x ?? []) {
      g.textAlign = "center";
      g.fillText(text, MARGIN + at, this.y + height + 6);
      g.fillRect(MARGIN + at, this.y + height, 1, 5);
    }
    g.textAlign = "left";
    for (const { at, text } of ticks?.y ?? []) {
      g.lineWidth = 3;
      g.strokeStyle = this.style.backgroundColor;
      g.strokeText(text, MARGIN + 8, this.y + at - 6);
      g.fillText(text, MARGIN + 8, this.y + at - 6);
      g.fillRect(MARGIN, this.y + at, 5, 1);
    }
    g.lineWidth = 1;
  }

  /** A bar of colours with the values at its ends. */
  private scale({ title, colormap, low, high }: ColourScale): void {
    this.line(title, this.text);
    const g = this.context;
    const [width, count] = [Math.min(320, this.width), colormap.length / 4];
    for (let x = 0; x < width; x += 1) {
      const [red, green, blue] = colormap.subarray(Math.min(count - 1, Math.floor((x / width) * count)) * 4);
      g.fillStyle = `rgb(${red}, ${green}, ${blue})`;
      g.fillRect(MARGIN + x, this.y, 1, BAR_PX);
    }
    this.y += BAR_PX + 3;
    this.write(low, MARGIN, `12px ${FONT}`, this.text);
    g.textAlign = "right";
    this.write(high, MARGIN + width, `12px ${FONT}`, this.text);
    g.textAlign = "left";
    this.y += LINE_PX + 4;
  }

  private classes(caption: Caption): void {
    for (const row of this.classRows(caption)) {
      for (const { color, text, at } of row) {
        this.context.fillStyle = color;
        this.context.fillRect(MARGIN + at, this.y + 2, 10, 10);
        this.write(text, MARGIN + at + 15, `12px ${FONT}`, this.text);
      }
      this.y += LINE_PX;
    }
  }

  /** The classes arranged in rows, each with its horizontal position. */
  private classRows({ classes = [] }: Caption): { color: string; text: string; at: number }[][] {
    this.ruler.font = `12px ${FONT}`;
    const rows: { color: string; text: string; at: number }[][] = [[]];
    let at = 0;
    const more = classes.length > CLASSES_MAX ? [{ color: "transparent", text: `and ${classes.length - CLASSES_MAX} more` }] : [];
    for (const entry of [...classes.slice(0, CLASSES_MAX), ...more]) {
      const width = 15 + this.ruler.measureText(entry.text).width + 18;
      if (at > 0 && at + width > this.width) [at] = [0, rows.push([])];
      rows.at(-1)?.push({ ...entry, at });
      at += width;
    }
    return rows;
  }

  private line(text: string, color = this.dim): void {
    this.write(text, MARGIN, `12px ${FONT}`, color);
    this.y += LINE_PX;
  }

  private write(text: string, x: number, font: string, color: string): void {
    this.context.font = font;
    this.context.fillStyle = color;
    this.context.fillText(text, x, this.y);
  }

  /** Lines that fit into the width, broken after spaces and slashes. */
  private wrapped(lines: readonly string[]): string[] {
    this.ruler.font = `12px ${FONT}`;
    const fits = (text: string) => this.ruler.measureText(text).width <= this.width;
    return lines.filter(Boolean).flatMap((line) => {
      const rows = [""];
      for (const part of line.split(/(?<= )|(?<=[/&])/)) {
        const row = rows.at(-1) ?? "";
        if (row === "" || fits(row + part)) rows[rows.length - 1] = row + part;
        else rows.push(part);
      }
      return rows;
    });
  }
}

/** The colour of a custom property of the page, which may depend on the scheme. */
function colourOf(name: string): string {
  const probe = Object.assign(document.createElement("span"), { hidden: true });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function copied(canvas: HTMLCanvasElement): HTMLCanvasElement {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  copy.getContext("2d")?.drawImage(canvas, 0, 0);
  return copy;
}

/** Properties from the page's style sheet, which an image on its own would lack. */
const PROPERTIES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-linejoin", "stroke-dasharray", "paint-order", "font-family", "font-size", "vector-effect"] as const;

/** An image of an SVG element of the page. */
async function imageOf(svg: SVGSVGElement, width: number, height: number): Promise<HTMLImageElement> {
  const clone = svg.cloneNode(true) as SVGSVGElement;
  const copies = clone.querySelectorAll("*");
  svg.querySelectorAll("*").forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of PROPERTIES) copies[i]?.setAttribute(name, style.getPropertyValue(name));
  });
  clone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  clone.setAttribute("width", String(width));
  clone.setAttribute("height", String(height));
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(clone))}`;
  await image.decode();
  return image;
}
