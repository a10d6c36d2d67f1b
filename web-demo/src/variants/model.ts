// The state of variant calls on the screen: a region, samples, and the table of the records.
import { signal } from "@preact/signals";
import { query, type TileArray } from "hyperslab";
import type { Model } from "../kind";
import { openArray, type Opened } from "../opened";
import type { Region } from "../table/rows";
import { TableState } from "../table/state";
import { cellRange, contigsOf, parseRegion, recordsIn, regionText, type Place } from "./region";

/** The part of a contig that is shown first, in positions. */
const SHOWN_FIRST = 1_000_000;
/** The maximum number of samples that are offered. */
const SAMPLES_MAX = 10_000;
/** The distance between anchors, if the array does not say it. */
const GAP = 1000;

export class VariantsModel implements Model {
  readonly state: TableState;
  readonly contigs = signal<readonly { name: string; length: number | undefined }[]>([]);
  readonly samples = signal<readonly string[]>([]);
  /** The region as entered, such as `chr1:1-1000`. */
  readonly region = signal("");
  /** The chosen samples, separated by commas. Empty: all. */
  readonly chosen = signal("");
  private readonly stopped = new AbortController();
  private readonly gap: number;

  constructor(readonly opened: Opened, link: Readonly<Record<string, string>>) {
    const { tables = [], attributes } = opened.dataset;
    const data = tables.find(({ name }) => name === "data");
    const stated = Number(attributes?.["anchor_gap"] ?? GAP);
    this.gap = Number.isFinite(stated) && stated > 0 ? stated : GAP;
    this.chosen.value = link["samples"] ?? "";
    const opening = openArray(opened, data?.path ?? "data");
    this.state = new TableState(async () => opening, data, {
      where: link["where"], sort: link["sort"],
      region: opening.then(async (array) => this.start(array, link["region"])),
      // Lists of bytes that only htslib reads.
      isShown: ({ sort, name }) => sort !== "bytes" && name !== "info" && name !== "fmt",
    });
  }

  get busy() { return this.state.busy; }
  get failure() { return this.state.failure; }

  /** Shows the records of the entered region and samples. */
  async show(): Promise<void> {
    await this.state.task(async () => {
      const place = parseRegion(this.region.peek());
      if (!place) throw new Error(`${this.region.peek() || "nothing"} is not a region; enter one such as chr1:1-1000000, counted from 1`);
      await this.state.show({ region: this.regionAt(place) });
    });
  }

  link(): Record<string, string> {
    const [region, samples] = [this.region.value, this.chosen.value];
    return { ...(region ? { region } : {}), ...(samples ? { samples } : {}), ...this.state.link() };
  }

  stop(): void {
    this.stopped.abort();
    this.state.stop();
  }

  private regionAt(place: Place): Region {
    const samples = this.chosen.peek().split(",").map((name) => name.trim()).filter(Boolean);
    return {
      ranges: {
        contig: [place.contig, place.contig], start_pos: cellRange(place, this.gap),
        ...(samples.length > 0 ? { sample: samples.map((name) => [name, name] as const) } : {}),
      },
      keep: recordsIn(place, this.gap),
    };
  }

  /** Reads the headers, and chooses the first region. */
  private async start(data: TileArray, linked: string | undefined): Promise<Region> {
    await this.readHeaders().catch((error: unknown) => console.warn(`the headers of the samples cannot be read: ${String(error)}`));
    const first = data.nonEmptyDomain()?.[0]?.[0];
    const known = this.contigs.peek().find(({ name }) => name === first)?.name ?? (typeof first === "string" ? first : this.contigs.peek()[0]?.name);
    const place = (linked === undefined ? undefined : parseRegion(linked)) ?? { contig: known ?? "", from: 0, to: SHOWN_FIRST - 1 };
    this.region.value = regionText(place);
    return this.regionAt(place);
  }

  /** The contigs of the first header, and the names of the samples. */
  private async readHeaders(): Promise<void> {
    const table = this.opened.dataset.tables?.find(({ name }) => name === "vcf_headers");
    if (!table) return;
    const headers = await openArray(this.opened, table.path);
    const { signal } = this.stopped;
    const [one, names] = await Promise.all([
      query(headers, { attrs: ["header"], limit: 1, signal }).columns(),
      query(headers, { attrs: ["sample"], limit: SAMPLES_MAX, signal }).columns(),
    ]);
    if (one.length > 0) this.contigs.value = contigsOf(String(one.columns["header"]?.at(0)));
    this.samples.value = Array.from(names.columns["sample"] ?? [], String).sort();
  }
}
