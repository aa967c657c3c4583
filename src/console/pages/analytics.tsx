// Analytics: what calls came to over a time. Every figure is the sum of the entries that its links lead to.
import { Action } from '../action.tsx';
import { filterOf, GROUPS, type Group, restOf } from '../analytics/groups.ts';
import { Month } from '../analytics/month.tsx';
import { OverTime } from '../analytics/over-time.tsx';
import {
  before,
  DEFAULT_FROM,
  errorStatuses,
  type Graphs,
  groupingOf,
  MOST_GROUPS,
  type Range,
  rangeOf,
  readGraphs,
  readGroups,
  totalsOf,
} from '../analytics/read.ts';
import { downloadCsv } from '../csv.ts';
import { Figure, type Point } from '../figure.tsx';
import { dollars, duration, whole } from '../figures.ts';
import { LogFilters } from '../log-filters.tsx';
import { entriesHref, NOT_OF_THE_LOG } from '../log-query.ts';
import { useNames } from '../names.ts';
import { Alert, Choice, Field, Head, Table, useLoaded } from '../parts.tsx';
import { ask, href, query, without } from '../router.ts';

const TIMES = [
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['6h', '6 hours'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const;

/** Members of the address that ask for nothing of what is read here. */
const SHOWN_APART = ['tables', 'measure', 'month', 'team'] as const;

async function read(asked: string, signal: AbortSignal) {
  const params = new URLSearchParams(asked);
  const range = rangeOf(params);
  const by = groupingOf(params);
  const [graphs, groups, former] = await Promise.all([
    readGraphs(range, signal),
    readGroups(range, by, signal),
    params.get('compare') === '1' ? readGraphs(before(range), signal) : undefined,
  ]);
  return { graphs, groups, former, by, range, formerRange: before(range) };
}

type Shown = Awaited<ReturnType<typeof read>>;

export default function Analytics() {
  const asked = without(query.value, ...SHOWN_APART).toString();
  const { value, error, reload } = useLoaded(asked, (signal) => read(asked, signal));
  const nameOf = useNames(value?.by === 'api_key');
  const hasMonth = query.value.has('month');
  const isCompared = query.value.get('compare') === '1';
  return (
    <>
      <Head title="Analytics">
        <button type="button" onClick={reload}>
          Refresh
        </button>
        <button
          type="button"
          aria-pressed={isCompared}
          onClick={() => ask({ compare: isCompared ? '' : '1' })}
        >
          Period before
        </button>
        <button
          type="button"
          aria-pressed={hasMonth}
          onClick={() => ask({ month: hasMonth ? '' : 'current' })}
        >
          Month by team
        </button>
        {value !== undefined && <Action name="CSV" run={() => exportCsv(value, nameOf)} />}
      </Head>
      <LogFilters>
        <Choice
          label="Time"
          value={query.value.get('from') ?? DEFAULT_FROM}
          options={TIMES}
          onChange={(from) => ask({ from, to: '' })}
        />
      </LogFilters>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <>
          <Figures {...value} />
          <Grouping />
          <Groups value={value} />
          <OverTime asked={asked} range={value.range} />
          {query.value.has('month') && <Month />}
        </>
      )}
    </>
  );
}

function Figures({ graphs, former, range, formerRange }: Shown) {
  const { requests, cost, latency, tokens, errors } = graphs;
  const all = { link: entriesOf(range), formerLink: entriesOf(formerRange), filter: NOTHING, times: range };
  const statuses = errorStatuses(graphs);
  const formerStatuses = former === undefined ? '' : errorStatuses(former);
  const counts = (of: readonly { readonly timestamp: string; readonly total: bigint }[]): Point[] =>
    of.map(({ timestamp: at, total }) => ({ at, value: Number(total), text: whole(total) }));
  const latencies = ({ summary }: Graphs['latency']): string =>
    `${duration(summary?.p50)} p50, ${duration(summary?.p99)} p99`;
  return (
    <div class="figures">
      <Figure
        {...all}
        name="Requests"
        sum={whole(requests.summary?.total)}
        former={former && whole(former.requests.summary?.total)}
        points={counts(requests.dataPoints)}
      />
      <Figure
        {...all}
        name="Cost"
        sum={dollars(cost.summary?.totalExact ?? '0')}
        former={former && dollars(former.cost.summary?.totalExact ?? '0')}
        points={cost.dataPoints.map(({ timestamp: at, total, totalExact }) => ({
          at,
          value: total / 100,
          text: dollars(totalExact),
        }))}
      />
      <Figure
        {...all}
        name="Latency"
        sum={latencies(latency)}
        former={former && latencies(former.latency)}
        points={latency.dataPoints.map(({ timestamp: at, p50 }) => ({ at, value: p50, text: duration(p50) }))}
      />
      <Figure
        {...all}
        name="Tokens"
        sum={whole(tokens.summary?.total)}
        former={former && whole(former.tokens.summary?.total)}
        points={counts(tokens.dataPoints)}
      />
      <Figure
        {...all}
        name="Errors"
        link={statuses === '' ? undefined : entriesOf(range, { status: statuses })}
        formerLink={formerStatuses === '' ? undefined : entriesOf(formerRange, { status: formerStatuses })}
        filter={{ status: statuses }}
        sum={whole(errors.summary?.total)}
        former={former && whole(former.errors.summary?.total)}
        points={counts(errors.dataPoints)}
      />
    </div>
  );
}

const NOTHING = {} as const;

/** A link to the entries of a time. */
function entriesOf(range: Range, more: Readonly<Record<string, string>> = NOTHING): string {
  return entriesHref({ ...NOT_OF_THE_LOG, ...timesOf(range), ...more });
}

function Grouping() {
  const by = query.value.get('by') ?? 'model';
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get('member');
    ask({ member: String(given ?? '').trim() });
  };
  return (
    <form class="filters" onSubmit={submit}>
      <Choice label="Group by" value={by} options={GROUPS} onChange={(one) => ask({ by: one })} />
      {by === 'metadata' && (
        <>
          <Field
            label="Metadata member"
            name="member"
            defaultValue={query.value.get('member') ?? 'team'}
            maxLength={128}
          />
          <button type="submit">Group</button>
        </>
      )}
    </form>
  );
}

const HEADS = ['Requests', 'Cost', 'Tokens', 'Mean latency', 'Errors'];

function cellsOf({ requests, costExact, totalTokens, avgLatency, errorCount }: Group): readonly string[] {
  return [whole(requests), dollars(costExact), whole(totalTokens), duration(avgLatency), whole(errorCount)];
}

function Groups({ value: { graphs, groups, by, range } }: { readonly value: Shown }) {
  const word = GROUPS.find(([name]) => name === by)?.[1] ?? by.replace('metadata.', '');
  const rest = restOf(groups, totalsOf(graphs));
  const nameOf = useNames(by === 'api_key');
  const rows = groups.groups.map((group) => {
    const filter = filterOf(by, group.value);
    const name = <bdi>{group.name === '' ? '(none)' : nameOf(group.name).slice(0, 120)}</bdi>;
    if (filter === undefined) return [name, ...cellsOf(group)];
    return [<a href={entriesOf(range, filter)}>{name}</a>, ...cellsOf(group)];
  });
  return (
    <Table
      label={`By ${word.toLowerCase()}`}
      columns={[word, ...HEADS]}
      rows={rest === undefined ? rows : [...rows, [rest.name, ...cellsOf(rest)]]}
      empty={
        <>
          No calls in this time. Analytics adds up what calls cost and how long they took:{' '}
          <a href={href('/playground')}>make one in the playground</a>, or choose a longer time.
        </>
      }
    />
  );
}

function timesOf({ timeOfGenerationMin: from, timeOfGenerationMax: to }: Range) {
  return { from, to };
}

/** All groups, also those beyond the table. @throws ConnectError */
async function exportCsv({ graphs, by, range }: Shown, nameOf: (id: string) => string): Promise<void> {
  const all = await readGroups(range, by, undefined, MOST_GROUPS);
  const rest = restOf(all, totalsOf(graphs));
  const shown: readonly Group[] = rest === undefined ? all.groups : [...all.groups, rest];
  const rows = shown.map(({ value, name, requests, costExact, totalTokens, avgLatency, errorCount }) => [
    nameOf(name),
    String(requests),
    dollars(costExact).replace('$', ''),
    String(totalTokens ?? ''),
    String(avgLatency ?? ''),
    String(errorCount ?? ''),
    value,
  ]);
  downloadCsv(`usage-by-${by.replace(/[^\w.-]/g, '_')}.csv`, [[by, ...HEADS, 'Id'], ...rows]);
}
