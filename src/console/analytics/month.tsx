// A month by team, for those who charge it to them: its sums equal those of the log's entries.

import { Action } from '../action.tsx';
import { latest, now } from '../clock.ts';
import { downloadCsv } from '../csv.ts';
import { dollars, whole } from '../figures.ts';
import { entriesHref, filtersOf, NOT_OF_THE_LOG } from '../log-query.ts';
import { Alert, Choice, Field, Table, useLoaded } from '../parts.tsx';
import { ask, query } from '../router.ts';
import { filterOf, type Group, restOf } from './groups.ts';
import { MOST_GROUPS, type Range, readGroups, readTotals } from './read.ts';

const MONTHS = 13;

/** Months in UTC, the current one first, e.g. `2026-11`. */
function months(): readonly string[] {
  const today = new Date(now());
  return Array.from({ length: MONTHS }, (_, i) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - i, 1)).toISOString().slice(0, 7),
  );
}

/** The month until now, by the address' filters: what its links lead to. */
function rangeOfMonth(month: string) {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return {
    ...filtersOf(query.value),
    timeOfGenerationMin: new Date(Date.UTC(year, number - 1, 1)).toISOString(),
    timeOfGenerationMax: new Date(Math.min(Date.UTC(year, number, 1), latest())).toISOString(),
  };
}

async function readMonth(month: string, by: string, most: number | undefined, signal?: AbortSignal) {
  const range = rangeOfMonth(month);
  const [found, totals] = await Promise.all([readGroups(range, by, signal, most), readTotals(range, signal)]);
  const rest = restOf(found, totals);
  return { range, rows: rest === undefined ? found.groups : ([...found.groups, rest] as readonly Group[]) };
}

export function Month() {
  const known = months();
  const asked = query.value.get('month') ?? '';
  const month = known.includes(asked) ? asked : (known[0] ?? '');
  // A team is a workspace, or what calls say in a member of their metadata.
  const member = query.value.get('team') ?? '';
  const by = member === '' ? 'workspace' : `metadata.${member}`;
  const wanted = JSON.stringify([month, by, filtersOf(query.value)]);
  const { value, error } = useLoaded(wanted, (signal) => readMonth(month, by, undefined, signal));
  const { rows = [], range } = value ?? {};
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get('team');
    ask({ team: String(given ?? '').trim() }, true);
  };
  const exportCsv = async (): Promise<void> => {
    const all = await readMonth(month, by, MOST_GROUPS);
    downloadCsv(`cost-by-team-${month}.csv`, [
      ['Month', 'Team', 'Requests', 'Dollars'],
      ...all.rows.map(({ name, requests, costExact }) => [
        month,
        name,
        String(requests),
        dollars(costExact).replace('$', ''),
      ]),
    ]);
  };
  return (
    <section aria-label="Month by team" class="part">
      <div class="head">
        <h2>Month by team</h2>
        {rows.length > 0 && <Action name="CSV of the month" run={exportCsv} />}
      </div>
      <form class="filters" onSubmit={submit}>
        <Choice
          label="Month"
          value={month}
          options={known.map((one) => [one, one] as const)}
          onChange={(one) => ask({ month: one }, true)}
        />
        <Field label="Team" name="team" defaultValue={member} maxLength={128} placeholder="workspace" />
        <button type="submit">Show</button>
      </form>
      <p class="hint">A team is a workspace, or what calls say in a member of their metadata, e.g. team.</p>
      {error !== undefined && <Alert>{error}</Alert>}
      {range !== undefined && (
        <Table
          label="Cost by team"
          columns={['Team', 'Requests', 'Cost']}
          rows={rows.map(({ name, value: team, requests, costExact }) => [
            <Entries key="team" by={by} team={team} name={name} range={range} />,
            whole(requests),
            dollars(costExact),
          ])}
          empty="No calls of a team in this month."
        />
      )}
    </section>
  );
}

interface EntriesProps {
  readonly by: string;
  readonly team: string;
  readonly name: string;
  readonly range: Range;
}

function Entries({ by, team, name, range }: EntriesProps) {
  const filter = filterOf(by, team);
  const text = <bdi>{name === '' ? '(none)' : name.slice(0, 120)}</bdi>;
  if (filter === undefined) return text;
  const { timeOfGenerationMin: from, timeOfGenerationMax: to } = range;
  return <a href={entriesHref({ ...NOT_OF_THE_LOG, ...filter, from, to })}>{text}</a>;
}
