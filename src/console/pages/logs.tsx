// Logs: what was asked, what became of it, what it cost; new entries come in as they are made.
import { useCallback, useEffect, useMemo } from 'preact/hooks';
import { Action } from '../action.tsx';
import { reachable } from '../api.ts';
import { dollars, duration, moment, whole } from '../figures.ts';
import { FirstCall } from '../first-call.tsx';
import { LogFacets } from '../log-facets.tsx';
import { isFiltered, LogFilters } from '../log-filters.tsx';
import { LogList, type Row } from '../log-list.ts';
import type { PageProps } from '../page-props.ts';
import { Alert, Choice, Head, Table } from '../parts.tsx';
import { ask, href, query, without } from '../router.ts';
import { Rows } from '../rows.tsx';
import { LogPage } from './log.tsx';

export default function Logs({ rest }: PageProps) {
  return rest === '' ? <List /> : <LogPage key={rest} id={rest} />;
}

const COLUMNS = ['Time', 'Status', 'Model', 'Provider', 'Latency', 'Tokens', 'Cost', 'Error'];
const TIMES = [
  ['', 'All time'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

function List() {
  const asked = without(query.value, 'values').toString();
  const list = useMemo(() => new LogList(new URLSearchParams(asked)), [asked]);
  useEffect(() => () => list.close(), [list]);
  const { entries, total, totalCapped, isLoaded, fault, tailFault, waiting, skipped } = list.state.value;
  const hasFilter = isFiltered() || query.value.has('from') || query.value.has('to');
  const onEnd = useCallback(() => void list.more(), [list]);
  const onTop = useCallback(
    (isTop: boolean) => {
      list.isTop = isTop;
      if (isTop) list.show();
    },
    [list],
  );
  return (
    <>
      <Head title="Logs">
        <span class="count" aria-live="polite">
          {isLoaded && `${whole(total)}${totalCapped ? '+' : ''} entries`}
        </span>
        {totalCapped && <Action name="Count all" run={() => list.countAll()} />}
      </Head>
      <Filters />
      {fault !== '' && <Alert>{fault}</Alert>}
      {tailFault !== '' && fault === '' && <Alert>{tailFault}</Alert>}
      {!reachable.value && <Alert>The gateway does not answer. Entries follow when it is back.</Alert>}
      {skipped > 0 && (
        <p role="status">{whole(skipped)} entries were skipped: they came too fast. Reload to see them.</p>
      )}
      {waiting.length > 0 && (
        <button type="button" class="new" onClick={() => list.show()}>
          {whole(waiting.length)} new
        </button>
      )}
      {entries.length > 0 && (
        <Rows
          label="Logs"
          columns={COLUMNS}
          rows={entries}
          keyOf={idOf}
          cellsOf={cellsOf}
          onEnd={onEnd}
          onTop={onTop}
        />
      )}
      {isLoaded && entries.length === 0 && fault === '' && (hasFilter ? <NoMatch /> : <FirstCall />)}
    </>
  );
}

function NoMatch() {
  return (
    <Table
      label="Logs"
      columns={COLUMNS}
      rows={[]}
      empty={
        <>
          No entry matches these filters. <a href={href('/logs')}>Show all</a>
        </>
      }
    />
  );
}

const idOf = ({ id }: Row): string => id;

function cellsOf(row: Row) {
  const { id, createdAt, statusCode, model, provider, latencyMs, totalTokens, costExact, errorReason } = row;
  return [
    <a key="id" href={href(`/logs/${encodeURIComponent(id)}`, Object.fromEntries(query.value))}>
      {moment(createdAt)}
    </a>,
    <span key="status" class={statusCode >= 400 ? 'bad' : 'good'}>
      {statusCode}
    </span>,
    <bdi key="model">{short(model)}</bdi>,
    <bdi key="provider">{short(provider)}</bdi>,
    duration(latencyMs),
    whole(totalTokens),
    dollars(costExact),
    errorReason ?? '',
  ];
}

/** A caller may have written anything: what is too long for a row is cut. */
function short(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

function Filters() {
  const isOpen = query.value.get('values') === '1';
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typed = (event.target as Element | null)?.closest?.(
        'input, select, textarea, dialog, [contenteditable]',
      );
      if (event.key !== '/' || typed) return;
      event.preventDefault();
      document.querySelector<HTMLInputElement>('input[name="q"]')?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <LogFilters>
        <Choice
          label="Time"
          value={query.value.get('from') ?? ''}
          options={TIMES}
          onChange={(from) => ask({ from, to: '' })}
        />
        <button type="button" aria-expanded={isOpen} onClick={() => ask({ values: isOpen ? '' : '1' }, true)}>
          Values
        </button>
      </LogFilters>
      {isOpen && <LogFacets />}
    </>
  );
}
