// Scrolls through more rows than an element can be high: browsers limit it to some 17 million pixels. If the rows are
// higher, the scrollbar moves faster than the rows do under the wheel or a finger.

export const ROW_PX = 26;
export const HEADER_PX = 44;
/** The maximum height of the scrolled element. */
const HEIGHT_MAX = 8_000_000;

export class Scroller {
  /** The first visible row, with the part of it that is hidden. */
  top = 0;
  /** The last position of the scrollbar that was taken into account. */
  private bar = 0;

  /** `height`: that of the visible rows, in pixels. */
  constructor(readonly rows: number, readonly height: number) {}

  /** The height of all rows in pixels, as far as the element can be that high. */
  get spacer(): number {
    return Math.min(this.rows * ROW_PX, HEIGHT_MAX);
  }

  /** The largest value of `top`. */
  get last(): number {
    return Math.max(0, this.rows - this.height / ROW_PX);
  }

  /** The position of the scrollbar that belongs to `top`. */
  get barTop(): number {
    return this.isExact ? this.top * ROW_PX : this.last === 0 ? 0 : (this.top / this.last) * this.barLast;
  }

  /** The scrollbar was moved to this position. */
  moveBar(to: number): void {
    const by = to - this.bar;
    this.bar = to;
    const isNear = !this.isExact && Math.abs(by) < this.height && to > 0 && to < this.barLast - 1;
    this.moveTo(this.isExact ? to / ROW_PX : isNear ? this.top + by / ROW_PX : (to / Math.max(this.barLast, 1)) * this.last);
  }

  /** The page has set the scrollbar to this position: no row moves. */
  settle(bar: number): void {
    this.bar = bar;
  }

  moveTo(top: number): void {
    this.top = Math.max(0, Math.min(this.last, top));
  }

  /** Moves as little as possible so that a row is visible. */
  show(row: number): void {
    const whole = Math.max(1, Math.floor(this.height / ROW_PX));
    if (row < this.top) this.moveTo(row);
    else if (row + 1 > this.top + this.height / ROW_PX) this.moveTo(row + 1 - Math.max(whole, this.height / ROW_PX));
  }

  private get isExact(): boolean {
    return this.rows * ROW_PX <= HEIGHT_MAX;
  }

  private get barLast(): number {
    return Math.max(0, this.spacer - this.height);
  }
}
