// The log's reading worker: pages, entries and aggregations from segments and the tail.
import { DatabaseSync } from 'node:sqlite';
import { backgroundThread } from '../../../lib/background-thread.ts';
import { NOTICE, type Reply } from '../protocol.ts';
import { statementCache } from '../statement-cache.ts';
import { eachAlone, FailureError, type RunGroup, serve } from '../worker-loop.ts';
import { planAggregate } from './aggregate-plan.ts';
import { readRollups } from './aggregate-reads.ts';
import { readBody, scanBodies } from './body-files.ts';
import { BodyReader } from './body-reader.ts';
import { type LogSearchCall, type LogSlice, searchBodies } from './body-search.ts';
import { DamagedSegment } from './damage.ts';
import { DamageFound } from './damage-found.ts';
import { readEntry, scanEntries } from './entry-reads.ts';
import { countFacets } from './facet-counts.ts';
import { feedbackReader } from './feedback-reads.ts';
import { sumFeedback } from './feedback-sums.ts';
import type { SegmentRow } from './manifest.ts';
import { readPage } from './page-reads.ts';
import type { LogReaderCall, LogSetup } from './protocol.ts';
import { facetsAreOver } from './question-time.ts';
import { Scratch, type Segment } from './segment.ts';
import { SegmentFiles } from './segment-files.ts';
import { type LogScope, Selection } from './selection.ts';
import { ValueTables } from './value-table.ts';
import { LogView, type View } from './view.ts';

/** Calls answered together: none waits for another's. */
const GROUP = 1;
/** Heads of segments held in memory: of 16 million entries. */
const HEADS = 2000;

/** Of a call that meets files which are dropped meanwhile, a bucket after the other. */
const TRIES = 50;

serve<LogReaderCall, LogSetup>(GROUP, openLogReader);

function openLogReader(setup: LogSetup): RunGroup<LogReaderCall> {
  backgroundThread();
  const database = new DatabaseSync(setup.path, { readOnly: true, timeout: 5000 });
  database.exec('PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0');
  const cached = statementCache(database);
  const feedback = feedbackReader(cached);
  const files = new SegmentFiles(setup.folder, HEADS);
  const values = new ValueTables();
  const scratch = new Scratch();
  let epoch = -1;
  const damage = new DamageFound();
  const viewed = (): LogView => new LogView(cached, files, setup, damage.ids);
  let log = viewed();

  function current(): View {
    cached('BEGIN').run();
    try {
      const view = log.refresh();
      // Segments were dropped: cached data may be of deleted files.
      if (view.epoch !== epoch) values.forget();
      epoch = view.epoch;
      return view;
    } finally {
      cached('COMMIT').run();
    }
  }

  let leavesAt = Number.POSITIVE_INFINITY;
  function selectionOf({ hash }: View, scope: LogScope, filter: LogReaderFilter): Selection {
    const { feedback: range, ...rest } = filter;
    const liked = range && feedback.liked(scope, range);
    return new Selection(scope, rest, hash, liked, values, scratch, leavesAt);
  }

  function search(call: LogSearchCall): LogSlice | null {
    const { from = 0, until = Number.MAX_SAFE_INTEGER } = call.filter;
    const bodies = new BodyReader(setup.folder, damage.tell);
    try {
      if (!bodies.hasWithin(from, until - 1)) return null;
      const view = current();
      const selection = (filter: LogReaderFilter): Selection => selectionOf(view, call, filter);
      return searchBodies(call, view.parts, selection(call.filter), selection(call.bodyFilter), bodies);
    } finally {
      bodies.close();
    }
  }

  function perform(call: LogReaderCall): unknown {
    switch (call.kind) {
      case 'page': {
        const view = current();
        return readPage(call, view.parts, selectionOf(view, call, call.filter), setup.searchMs);
      }
      case 'search':
        return search(call);
      case 'sums': {
        const view = current();
        const selection = selectionOf(view, call, call.filter);
        const open = (row: SegmentRow): Segment => files.segment(row);
        const plan = planAggregate(view, selection, call, open);
        return readRollups(plan, call.aggregation, selection, setup.groups);
      }
      case 'facets': {
        const view = current();
        const selection = selectionOf(view, call, call.filter);
        return countFacets(view.parts, call.question, selection, () => facetsAreOver(leavesAt));
      }
      case 'get': {
        const view = current();
        return readEntry(view.parts, selectionOf(view, call, call.filter));
      }
      case 'scan': {
        const view = current();
        const selection = selectionOf(view, { org: '', workspace: null }, {});
        return scanEntries(view.parts, selection, call.after, call.limit, call.characters);
      }
      case 'feedback':
        return sumFeedback(cached, feedback.liked, call, call.filter, call.by);
      case 'body':
        return readBody(setup.folder, call.org, call.id, call.time, damage.tell);
      case 'scanBodies':
        return scanBodies(setup.folder, call.after);
      case 'close':
        files.forget();
        database.close();
        return null;
    }
  }

  /** Files may be dropped between the look at the list and the look at them: then the list is another one. */
  function performed(call: LogReaderCall, expiresAt: number): unknown {
    leavesAt = expiresAt;
    damage.forgetOld();
    if (call.kind === 'scan') damage.forgetAll();
    for (let tries = 1; ; tries++) {
      try {
        return perform(call);
      } catch (error) {
        if (error instanceof DamagedSegment && call.kind !== 'scan') damage.found(error);
        else if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries >= TRIES) throw readable(error);
        else if (tries === TRIES - 1) damage.foundMissing(cached, setup.folder);
        files.forget();
        values.forget();
        log = viewed();
      }
    }
  }

  const run = eachAlone(performed);
  return (group) => {
    const replies = run(group);
    return [...damage.told().map((each): Reply => [NOTICE, each]), ...replies];
  };
}

/** A copy of the books is whole, or fails and says why. */
function readable(error: unknown): unknown {
  if (!(error instanceof DamagedSegment)) return error;
  const message = `${error.message}: \`sluice doctor\` has more`;
  return new FailureError({ reason: 'store_unavailable', message, cause: error.stack });
}

type LogReaderFilter = (LogReaderCall & { kind: 'page' })['filter'];
