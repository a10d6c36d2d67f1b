// The channels of an image: which are drawn, in which colours, between which values.
import { colorOfHex, hexOf, TOGETHER_MAX, type DrawnChannel } from "./channels";
import type { GridModel } from "./model";

export function ChannelControls({ model }: { model: GridModel }) {
  const channels = model.channels.value;
  if (channels.length === 0) return null;
  const change = (at: number, part: Partial<DrawnChannel>) => { model.channels.value = channels.map((channel, i) => (i === at ? { ...channel, ...part } : channel)); };
  const isFull = channels.filter(({ isOn }) => isOn).length >= TOGETHER_MAX;
  return (
    <fieldset id="channels">
      <legend>Channels</legend>
      <label class="check"><input id="blend" type="checkbox" checked={model.isBlended.value} onChange={(event) => { model.isBlended.value = event.currentTarget.checked; }} /> Draw together</label>
      {model.isBlended.value ? channels.map((channel, i) => (
        <div class="row" key={channel.name}>
          <input type="checkbox" aria-label={`Draw ${channel.name}`} checked={channel.isOn} disabled={!channel.isOn && isFull} onChange={(event) => change(i, { isOn: event.currentTarget.checked })} />
          <input type="color" aria-label={`Colour of ${channel.name}`} value={`#${hexOf(channel.color)}`} onInput={(event) => change(i, { color: colorOfHex(event.currentTarget.value.slice(1)) })} />
          <span>{channel.name}</span>
          <Bound name={`Lowest of ${channel.name}`} value={model.channelRange(channel)[0]} onValue={(value) => change(i, { range: [value, model.channelRange(channel)[1]] })} />
          <Bound name={`Highest of ${channel.name}`} value={model.channelRange(channel)[1]} onValue={(value) => change(i, { range: [model.channelRange(channel)[0], value] })} />
        </div>
      )) : null}
    </fieldset>
  );
}

function Bound({ name, value, onValue }: { name: string; value: number; onValue(value: number): void }) {
  return <input type="text" inputMode="decimal" class="short" aria-label={name} value={String(Number(value.toPrecision(5)))} onChange={(event) => { if (Number.isFinite(Number(event.currentTarget.value))) onValue(Number(event.currentTarget.value)); }} />;
}
