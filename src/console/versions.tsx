// The versions of something that is written, and any two of them compared. Which two stands in the address.
import type { ComponentChildren } from 'preact';
import { Diff } from './diff.tsx';
import { moment } from './figures.ts';
import { Choice, Table } from './parts.tsx';
import { ask, query } from './router.ts';

export interface Version {
  readonly id: string;
  /** What people tell it by, e.g. `3`. */
  readonly name: string;
  /** ISO 8601. */
  readonly at: string;
  /** What is special about it. */
  readonly note: ComponentChildren;
  readonly text: string;
  /** What can be done with it. */
  readonly actions?: ComponentChildren;
}

/** @param versions newest first */
export function Versions({ versions }: { readonly versions: readonly Version[] }) {
  const options = versions.map(({ id, name, at }) => [id, `${name}, ${moment(at)}`] as const);
  const known = (wanted: string | null, otherwise: number): Version | undefined =>
    versions.find(({ id }) => id === wanted) ?? versions[otherwise];
  const [before, after] = [known(query.value.get('before'), 1), known(query.value.get('after'), 0)];
  return (
    <>
      <h2>Versions</h2>
      <Table
        label="Versions"
        columns={['Version', 'Saved', 'About', '']}
        keys={versions.map(({ id }) => id)}
        rows={versions.map(({ name, at, note, actions }) => [name, moment(at), note, actions])}
        empty="There is one version."
      />
      {versions.length > 1 && before !== undefined && after !== undefined && (
        <section aria-label="Compare">
          <h3>Compare</h3>
          <div class="filters">
            <Choice
              label="From version"
              value={before.id}
              options={options}
              onChange={(id) => ask({ before: id }, true)}
            />
            <Choice
              label="To version"
              value={after.id}
              options={options}
              onChange={(id) => ask({ after: id }, true)}
            />
          </div>
          <Diff label="Difference" before={before.text} after={after.text} />
        </section>
      )}
    </>
  );
}
