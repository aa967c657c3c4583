// The filters of entries, on every page that shows entries or sums of them. They stand in the address.
import type { ComponentChildren } from 'preact';
import { FILTERS, type FilterName } from './log-query.ts';
import { useNames } from './names.ts';
import { Field } from './parts.tsx';
import { ask, query } from './router.ts';

/** Those with a field of their own. */
const FIELDS = ['status', 'model', 'provider', 'q'] as const satisfies readonly FilterName[];

/** Whether the address filters by anything but times. */
export function isFiltered(): boolean {
  return Object.keys(FILTERS).some((name) => query.value.has(name));
}

export function LogFilters({ children }: { readonly children?: ComponentChildren }) {
  const params = query.value;
  const submit = (event: Event): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    ask(Object.fromEntries(FIELDS.map((name) => [name, String(data.get(name) ?? '').trim()])));
  };
  const written = FIELDS.map((name) => params.get(name) ?? '');
  return (
    <>
      <form class="filters" key={written.join('\n')} onSubmit={submit}>
        <Field label="Status" name="status" inputMode="numeric" defaultValue={written[0] ?? ''} />
        <Field label="Model" name="model" defaultValue={written[1] ?? ''} />
        <Field label="Provider" name="provider" defaultValue={written[2] ?? ''} />
        <Field
          label="Search"
          name="q"
          type="search"
          minLength={3}
          maxLength={200}
          defaultValue={written[3] ?? ''}
        />
        <button type="submit">Apply</button>
        {children}
      </form>
      <Chips />
    </>
  );
}

/** Filters that have no field, e.g. those of a link; each can be taken away. */
function Chips() {
  const others = Object.keys(FILTERS).filter(
    (name) => !FIELDS.some((field) => field === name) && query.value.has(name),
  );
  const nameOf = useNames(query.value.has('key'));
  const shown = (name: string): string => {
    const value = query.value.get(name) ?? '';
    return (name === 'key' ? nameOf(value) : value).slice(0, 120);
  };
  if (others.length === 0) return null;
  return (
    <ul class="chips" aria-label="Further filters">
      {others.map((name) => (
        <li key={name}>
          <button type="button" onClick={() => ask({ [name]: '' })} title="Remove the filter">
            {name}: <bdi>{shown(name)}</bdi> ×
          </button>
        </li>
      ))}
    </ul>
  );
}
