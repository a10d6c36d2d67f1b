// A text to copy, with its name.
import { CopyButton } from "./CopyButton";

export function Code({ name, code }: { name: string; code: string }) {
  return (
    <div class="code">
      <div class="row"><span>{name}</span><CopyButton text={code} what={name} /></div>
      <pre tabIndex={0}>{code}</pre>
    </div>
  );
}
