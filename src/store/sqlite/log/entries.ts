// The port's part that is about entries, over the workers.

import type { RequestRecord } from '../../../call/record.ts';
import type { TenantScope } from '../../../call/scope.ts';
import { fail, invalidField } from '../../../lib/errors.ts';
import { checkScope } from '../../document-checks.ts';
import { bodyFilter, searchInSlices } from '../../log/body-search.ts';
import { decodeEntries, decodeEntry, encodeBatch } from '../../log/entry-text.ts';
import { matchesLog } from '../../log/matches.ts';
import { checkLogFilter } from '../../log-filter.ts';
import type { LogStore } from '../../log-store.ts';
import { checkPageSize, checkSkip } from '../../page-query.ts';
import type { BodySearch, LogFilter, LogPage, LogPageRequest } from '../../request-log.ts';
import type { WriterCall } from '../protocol.ts';
import type { WorkerClient } from '../worker-client.ts';
import type { LogSlice } from './body-search.ts';
import type { LogCompactor } from './compactor.ts';
import type { LogPageCall, LogRowPage, Position } from './page-reads.ts';
import type { LogReaderCall } from './protocol.ts';
import type { LogScope } from './selection.ts';

/** Of an append that other writes' failures make the writer begin anew. */
const TRIES = 5;

export function entryStore(
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<LogReaderCall>,
  compactor: LogCompactor,
): Pick<LogStore, 'append' | 'page' | 'get'> {
  return {
    append: async (batch, texts) => {
      if (batch.length === 0) return;
      const lines = await encodeBatch(batch, texts);
      const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
      const write = (): Promise<number | null> => writer.call({ kind: 'append', lines }, length);
      let size = await write();
      for (let tries = 1; size === null && tries < TRIES; tries++) {
        while (!(await writer.call<boolean>({ kind: 'readKeys' })));
        size = await write();
      }
      if (size === null) throw fail('store_unavailable', 'the log is not read so far; nothing was written');
      compactor.noted(size);
    },

    page: async (scope, filter, request) => {
      const call = pageCall(scope, filter, request);
      const searched = await searchPage(reader, call, request.bodies);
      if (searched) return searched;
      const found = await reader.call<LogRowPage>(call);
      // Only a search that was given up has more behind a page that is not full.
      const short = call.filter.text !== undefined && found.entries.length < call.take;
      const entries = await decodeEntries(found.entries);
      return {
        // Segments compare many texts by their hashes; the texts decide.
        entries: entries.filter((entry) => matchesLog(call.filter, entry)),
        total: found.total,
        totalCapped: found.capped,
        ...(found.next === null ? {} : { next: cursorOf(found.next) }),
        ...(found.next === null || !short ? {} : { searchedTo: found.next[0] }),
      };
    },

    get: async (scope, id, createdAt): Promise<RequestRecord | undefined> => {
      const time = createdAt === undefined ? {} : { from: createdAt, until: createdAt + 1 };
      const filter = checkLogFilter({ ids: [id], ...time });
      const text = await reader.call<string | null>({ kind: 'get', ...scopeOf(scope), filter });
      return text === null ? undefined : decodeEntry(text);
    },
  };
}

export function scopeOf(scope: TenantScope): LogScope {
  const { organisationId: org, workspaceId: workspace } = checkScope(scope);
  return { org, workspace };
}

function pageCall(scope: TenantScope, filter: LogFilter, request: LogPageRequest): LogPageCall {
  const { page, pageSize, order, after, count } = request;
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc', 'in');
  const take = checkPageSize(pageSize);
  return {
    kind: 'page',
    ...scopeOf(scope),
    filter: checkLogFilter(filter),
    order,
    take,
    skip: after === undefined ? checkSkip(page, take) : 0,
    after: after === undefined ? null : positionOf(after),
    count: count !== false,
  };
}

/** A page with a search in bodies; undefined: none is asked for, or there are no bodies to be searched. */
async function searchPage(
  reader: WorkerClient<LogReaderCall>,
  call: LogPageCall,
  bodies: BodySearch | undefined,
): Promise<LogPage | undefined> {
  const { filter, org, workspace, order } = call;
  if (bodies === undefined || filter.text === undefined) return undefined;
  const within = bodyFilter(filter, bodies);
  if (within === undefined) return undefined;
  const same = { kind: 'search' as const, org, workspace, order, filter, bodyFilter: within };
  const none: LogSlice = { entries: [], last: undefined, matched: 0, at: undefined, bytes: 0 };
  let kept = true;
  const ask = { ...call, after: call.after ?? undefined, bodies };
  const found = await searchInSlices<Position, string>(ask, async (slice) => {
    const answer = await reader.call<LogSlice | null>({ ...same, ...slice });
    kept &&= answer !== null;
    return answer ?? none;
  });
  if (!kept) return undefined;
  const { text: _, ...rest } = filter;
  const entries = await decodeEntries(found.entries);
  return {
    // Segments compare many texts by their hashes; the texts decide.
    entries: entries.filter((entry) => matchesLog(rest, entry)),
    total: found.total,
    totalCapped: found.capped,
    ...(found.next === undefined ? {} : { next: cursorOf(found.next) }),
    ...(found.stopped === undefined ? {} : { searchedTo: found.stopped[0] }),
  };
}

function cursorOf([time, seq]: Position): string {
  return Buffer.from(`${time}.${seq}`).toString('base64url');
}

function positionOf(cursor: unknown): Position {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString('latin1') : '';
  const found = /^(-?\d{1,16})\.(-?\d{1,16})$/.exec(text);
  if (!found) throw invalidField('after', 'is no cursor', 'cursor');
  return [Number(found[1]), Number(found[2])];
}
