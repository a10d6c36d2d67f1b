// How often which values were drawn, and the two values between which colours run.
import { useSignal } from "@preact/signals";
import type { Summary } from "../statistics";
import * as text from "../text";

interface Props {
  summary: Summary | undefined;
  range: readonly [number, number];
  /** Whether the user chose the range. */
  isChosen: boolean;
  onRange(range: readonly [number, number] | undefined): void;
}

const [WIDTH, HEIGHT] = [256, 44];

export function Histogram({ summary, range: [lo, hi], isChosen, onRange }: Props) {
  if (!summary || !(lo <= hi)) return null;
  const tallest = Math.max(1, ...summary.bins.map(Math.sqrt));
  const span = summary.max - summary.min || 1;
  const place = (value: number) => Math.max(0, Math.min(WIDTH, ((value - summary.min) / span) * WIDTH));
  return (
    <fieldset id="range">
      <legend>Range of the colours</legend>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Histogram of ${text.number(summary.count)} drawn values from ${text.number(summary.min)} to ${text.number(summary.max)}`}>
        {summary.bins.map((count, i) => {
          const height = (Math.sqrt(count) / tallest) * HEIGHT;
          return <rect key={i} x={(i * WIDTH) / summary.bins.length} y={HEIGHT - height} width={WIDTH / summary.bins.length} height={height} />;
        })}
        <path d={`M${place(lo)} 0V${HEIGHT}M${place(hi)} 0V${HEIGHT}`} />
      </svg>
      <div class="row">
        <Bound label="Lowest" value={lo} onValue={(value) => onRange([Math.min(value, hi), hi])} />
        <Bound label="Highest" value={hi} onValue={(value) => onRange([lo, Math.max(value, lo)])} />
      </div>
      <div class="row">
        <button type="button" class="plain" aria-pressed={isChosen && lo === summary.low && hi === summary.high} onClick={() => onRange([summary.low, summary.high])}>2 % – 98 %</button>
        <button type="button" class="plain" aria-pressed={!isChosen} onClick={() => onRange(undefined)}>Full range</button>
      </div>
    </fieldset>
  );
}

function Bound({ label, value, onValue }: { label: string; value: number; onValue(value: number): void }) {
  const wrong = useSignal(false);
  return (
    <input type="text" inputMode="decimal" aria-label={`${label} value of the colours`} aria-invalid={wrong.value} value={String(Number(value.toPrecision(7)))}
      onChange={(event) => {
        const entered = event.currentTarget.value.trim() === "" ? NaN : Number(event.currentTarget.value);
        wrong.value = !Number.isFinite(entered);
        if (!wrong.value) onValue(entered);
      }} />
  );
}
