// Parts that pages share.
import { useSignal } from '@preact/signals';
import type { ComponentChildren, TargetedFocusEvent, TargetedInputEvent } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { wordsOf } from './api.ts';

/** A fault, told at once. */
export function Alert({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="alert" role="alert">
      {children}
    </div>
  );
}

interface FieldProps {
  readonly label: string;
  readonly name?: string;
  readonly type?: 'text' | 'search';
  readonly class?: string;
  readonly value?: string;
  readonly defaultValue?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly inputMode?: 'numeric' | 'text';
  readonly onInput?: (event: TargetedInputEvent<HTMLInputElement>) => void;
  readonly onFocus?: (event: TargetedFocusEvent<HTMLInputElement>) => void;
}

/** A text field with its label. */
export function Field({ label, type = 'text', ...rest }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === 'search' ? (
        <input id={id} type="search" autocomplete="off" spellcheck={false} {...rest} />
      ) : (
        <input id={id} type="text" autocomplete="off" spellcheck={false} {...rest} />
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** What was loaded, what went wrong, or neither yet. */
export interface Loaded<T> {
  readonly value?: T;
  readonly error?: string;
}

/** Loads when `key` changes; what an earlier key brings is dropped. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>) {
  const state = useSignal<Loaded<T>>({});
  const again = useSignal(0);
  useEffect(() => {
    const left = new AbortController();
    load(left.signal).then(
      (value) => {
        if (!left.signal.aborted) state.value = { value };
      },
      (error: unknown) => {
        if (!left.signal.aborted) state.value = { error: wordsOf(error) };
      },
    );
    return () => left.abort();
  }, [key, again.value]);
  return { ...state.value, reload: () => void again.value++ };
}

/** The page's head: its title, and what can be done. */
export function Head({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <div class="head">
      <h1>{title}</h1>
      <div class="actions">{children}</div>
    </div>
  );
}

/** A list of a page: says below its columns what it is for when it is empty. */
export function Table({
  label,
  columns,
  rows,
  keys,
  empty,
}: {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
  /** What each row is told by; needed where rows have buttons of their own. */
  readonly keys?: readonly string[];
  readonly empty: ComponentChildren;
}) {
  const table = (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section class="scroll" tabIndex={0} aria-label={`${label}, scrollable`}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column, place) => (
              <th key={place} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, i) => (
            <tr key={keys?.[i] ?? i}>
              {cells.map((cell, place) => (
                <td key={place}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
  if (rows.length > 0) return table;
  return (
    <>
      {table}
      <p class="empty">{empty}</p>
    </>
  );
}

/** Loads a file that the page has made. */
export function download(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A cell of a CSV file: what a spreadsheet would take for a formula is text. */
export function csvCell(value: string): string {
  const safe = /^[=+\-@＝＋－＠\t\r\n]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value) ? `'${value}` : value;
  // Some spreadsheets part cells at ; or tabs: what follows one is not the beginning of a cell.
  return /[",;\t\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
