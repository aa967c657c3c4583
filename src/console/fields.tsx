// Fields of forms that are read as a whole when they are submitted.
import type { TargetedInputEvent, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';

interface AreaProps {
  readonly label: string;
  readonly name?: string;
  readonly rows?: number;
  readonly value?: string;
  readonly defaultValue?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly onInput?: (event: TargetedInputEvent<HTMLTextAreaElement>) => void;
  readonly onKeyDown?: (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => void;
}

/** Text of several lines with its label. */
export function Area({ label, rows = 3, ...rest }: AreaProps) {
  const id = useId();
  // What is there at first is in sight.
  const { length } = (rest.value ?? rest.defaultValue ?? '').slice(0, 4000).split('\n');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea id={id} rows={Math.max(rows, Math.min(16, length))} spellcheck={false} {...rest} />
    </div>
  );
}

export type Options = readonly (readonly [value: string, text: string])[];

interface SelectProps {
  readonly label: string;
  readonly name: string;
  readonly options: Options;
  readonly defaultValue?: string;
  readonly required?: boolean;
}

/** One of several values. */
export function Select({ label, options, defaultValue, ...rest }: SelectProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} {...rest}>
        {options.map(([value, text]) => (
          <option key={value} value={value} selected={value === defaultValue}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface AmountProps {
  readonly label: string;
  readonly name: string;
  readonly defaultValue?: string;
  readonly required?: boolean;
  readonly min?: string;
  /** "any": fractions too. */
  readonly step?: string;
}

/** A number. */
export function Amount({ label, ...rest }: AmountProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="number" autocomplete="off" {...rest} />
    </div>
  );
}

interface CheckProps {
  readonly label: string;
  readonly name: string;
  readonly value?: string;
  readonly checked?: boolean;
}

/** A choice that is made or not. */
export function Check({ label, name, value = 'yes', checked = false }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} defaultChecked={checked} /> {label}
    </label>
  );
}

/** A form's texts by name; a field that is left open is absent. */
export function textsOf(data: FormData): Readonly<Record<string, string>> {
  const given = [...data].flatMap(([name, value]) =>
    typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()] as const] : [],
  );
  return Object.fromEntries(given);
}

/** A text as a JSON object. @throws Error that names the field */
export function objectOf(label: string, text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined || text.trim() === '') return {};
  const value = jsonOf(label, text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${label}: must be a JSON object, e.g. {"name": "value"}`);
  return value as Readonly<Record<string, unknown>>;
}

/** A text as a JSON array. @throws Error that names the field */
export function arrayOf(label: string, text: string | undefined): readonly unknown[] {
  if (text === undefined || text.trim() === '') return [];
  const value = jsonOf(label, text);
  if (!Array.isArray(value)) throw new Error(`${label}: must be a JSON array, e.g. [{…}]`);
  return value;
}

function jsonOf(label: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${label}: is no JSON: ${error instanceof Error ? error.message : ''}`);
  }
}
