// A labelled choice between names.

interface Props {
  id: string;
  label: string;
  options: readonly { value: string; text: string; title?: string | undefined }[];
  value: string;
  onChange(value: string): void;
}

export function Select({ id, label, options, value, onChange }: Props) {
  return (
    <label>{label}
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => <option key={option.value} value={option.value} title={option.title} selected={option.value === value}>{option.text}</option>)}
      </select>
    </label>
  );
}
