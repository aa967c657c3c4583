// The entries before and after one, within the filter that the address has. Keys: `j` to the next, `k` to the previous.
import { useLayoutEffect } from 'preact/hooks';
import { LogsService, Order } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { client } from '../api.ts';
import { filtersOf, timesOf } from '../log-query.ts';
import { useLoaded } from '../parts.tsx';
import { go, href, query } from '../router.ts';

/** Entries of one millisecond that are looked through. */
const PAGE = 100;

interface NeighboursProps {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

export function Neighbours({ id, createdAt }: NeighboursProps) {
  const asked = query.value.toString();
  const { value } = useLoaded(`${id} ${asked}`, async (signal) => {
    const params = new URLSearchParams(asked);
    const [older, newer] = await Promise.all([
      neighbour(params, { id, createdAt, order: Order.DESC }, signal),
      neighbour(params, { id, createdAt, order: Order.ASC }, signal),
    ]);
    return { older, newer };
  });
  const to = (other: string): string => `/logs/${encodeURIComponent(other)}`;
  // As soon as the links are there the keys work.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typed = (event.target as Element | null)?.closest?.('input, select, textarea, dialog');
      if (typed || event.ctrlKey || event.metaKey || event.altKey) return;
      const other = event.key === 'j' ? value?.older : event.key === 'k' ? value?.newer : undefined;
      if (other !== undefined) go(to(other) + (asked === '' ? '' : `?${asked}`));
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [value, asked]);
  const params = Object.fromEntries(query.value);
  return (
    <>
      {value?.newer !== undefined && <a href={href(to(value.newer), params)}>Previous entry</a>}
      {value?.older !== undefined && <a href={href(to(value.older), params)}>Next entry</a>}
    </>
  );
}

interface From extends NeighboursProps {
  readonly order: Order;
}

/** The entry that the list has after this one, in the list's order or against it. */
async function neighbour(
  params: URLSearchParams,
  { id, createdAt, order }: From,
  signal: AbortSignal,
): Promise<string | undefined> {
  const times = timesOf(params);
  const upTo = new Date(Date.parse(createdAt) + 1).toISOString();
  const bounds =
    order === Order.DESC
      ? { ...times, timeOfGenerationMax: upTo }
      : { ...times, timeOfGenerationMin: createdAt };
  const { data } = await client(LogsService).listLogs(
    { ...filtersOf(params), ...bounds, order, pageSize: PAGE },
    { signal },
  );
  const at = data.findIndex((entry) => entry.id === id);
  // An entry that is not in the filter itself: the first one of the other side.
  return at === -1 ? data.find((entry) => entry.createdAt !== createdAt)?.id : data[at + 1]?.id;
}
