// Rows of shared state into Redis and out of it, for `sluice migrate`.
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { fail } from '../../lib/errors.ts';
import type { StateImportOutcome, StateRow, StateTarget } from '../state-transfer.ts';
import { type Client, connect, ping } from './connections.ts';
import { boundedCalls, keyPrefix, type Within } from './runner.ts';
import { listOf, PRELUDE, type Reply, textOf } from './script.ts';
import {
  decodeRows,
  encodeRow,
  READ_JOURNAL,
  READ_ROWS,
  READABLE,
  type Readable,
  WRITE_ROWS,
} from './transfer-scripts.ts';

export interface RedisTransfer extends StateTarget {
  close(): void;
}

export interface RedisTransferOptions {
  /** As of `openRedisState`. */
  readonly url: string;
  /** How long a call, and the first connection, may take, in milliseconds; 10,000 by default. */
  readonly deadlineMs?: number;
}

/** Keys read by one script; a value may have a MiB. */
const KEYS = { b: 200, h: 200, s: 50, v: 10, 'j:e': 500 } as const;
/** Journal entries read by one script: each may have a MiB. */
const ENTRIES = 20;
const OUTCOMES: Readonly<Record<string, StateImportOutcome>> = { w: 'written', p: 'present', d: 'differs' };

/** @throws GatewayError store_unavailable when Redis does not answer within the deadline. */
export async function openRedisTransfer({
  url,
  deadlineMs = 10_000,
}: RedisTransferOptions): Promise<RedisTransfer> {
  const client = connect(url, 'sluice-migrate', deadlineMs);
  const within = boundedCalls({ deadlineMs, maxQueued: 100 });
  try {
    await untilReady(client, deadlineMs);
  } catch (error) {
    client.disconnect();
    throw error;
  }
  const put = async (rows: readonly StateRow[], write: boolean): Promise<readonly StateImportOutcome[]> => {
    const outcomes = new Map<StateRow, StateImportOutcome>();
    for (const [org, own] of Map.groupBy(rows, (row) => row.org)) {
      const letters = await evaluate(client, within, WRITE_ROWS, org, [
        write ? '1' : '0',
        ...own.map(encodeRow),
      ]);
      listOf(letters).forEach((letter, index) => {
        outcomes.set(own[index] as StateRow, OUTCOMES[textOf(letter)] ?? 'differs');
      });
    }
    return rows.map((row) => outcomes.get(row) ?? 'differs');
  };
  return {
    rows: (organisations) => batchesOf(client, within, organisations),
    look: (rows) => put(rows, false),
    write: (rows) => put(rows, true),
    close: () => client.disconnect(),
  };
}

async function untilReady(client: Client, ms: number): Promise<void> {
  const giveUpAt = performance.now() + ms;
  for (;;) {
    const wrong = await ping(client).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (wrong === undefined) return;
    if (performance.now() > giveUpAt) {
      throw fail('store_unavailable', 'Redis cannot be reached at the address in REDIS_URL', {
        cause: wrong,
      });
    }
    await sleep(50);
  }
}

function evaluate(
  client: Client,
  within: Within,
  lua: string,
  org: string,
  args: readonly (string | number)[],
): Promise<Reply> {
  return within(
    async () => (await client.call('EVAL', [PRELUDE + lua, '1', keyPrefix(org), '', ...args])) as Reply,
  );
}

async function* batchesOf(
  client: Client,
  within: Within,
  organisations: ReadonlySet<string>,
): AsyncGenerator<readonly StateRow[]> {
  for (const [org, kinds] of await namesOf(client, organisations)) {
    for (const kind of READABLE) {
      const names = [...(kinds.get(kind) ?? [])];
      if (kind === 'j') {
        if (names.length > 0) yield* journalOf(client, within, org);
        continue;
      }
      for (let at = 0; at < names.length; at += KEYS[kind]) {
        const some = names.slice(at, at + KEYS[kind]);
        const replies = await evaluate(client, within, READ_ROWS, org, [kind, ...some]);
        yield listOf(replies).flatMap((reply) => decodeRows(org, kind, reply));
      }
    }
  }
}

async function* journalOf(client: Client, within: Within, org: string): AsyncGenerator<readonly StateRow[]> {
  for (let after = '0'; ; ) {
    const reply = await evaluate(client, within, READ_JOURNAL, org, [after, ENTRIES]);
    const [entries, tail, claimed] = listOf(reply);
    const rows = listOf(entries).map((entry): StateRow => {
      const [seq, id = '', madeAt, data = '', consumer = '', until = ''] = listOf(entry).map(textOf);
      return {
        kind: 'journal',
        org,
        seq: Number(seq),
        id,
        madeAt: Number(madeAt),
        data,
        ...(until === '' ? {} : { claim: { consumer, until: Number(until) } }),
      };
    });
    yield rows;
    const last = rows.at(-1);
    if (last?.kind === 'journal') {
      after = String(last.seq);
      continue;
    }
    if (textOf(tail) !== '') {
      yield [{ kind: 'journal_head', org, tail: Number(textOf(tail)), claimedTo: Number(textOf(claimed)) }];
    }
    return;
  }
}

const KEY = /^sluice:\{([^}]*)\}:(j:e|j:m|j|[bhsv])(?::([\s\S]*))?$/;

/** The names of the keys that hold rows, by organisation and by what they hold. A scan may meet a key twice. */
async function namesOf(
  client: Client,
  organisations: ReadonlySet<string>,
): Promise<Map<string, Map<Readable, Set<string>>>> {
  const found = new Map<string, Map<Readable, Set<string>>>();
  const nodes: readonly Redis[] = client instanceof Cluster ? client.nodes('master') : [client];
  for (const node of nodes) {
    for await (const keys of node.scanStream({ match: 'sluice:{*}:*', count: 1000 })) {
      for (const key of keys as string[]) {
        const [, encoded = '', letters = '', name = ''] = KEY.exec(key) ?? [];
        if (letters === '') continue;
        const org = decodeURIComponent(encoded);
        if (!organisations.has(org)) continue;
        const kind = (letters === 'j:m' ? 'j' : letters) as Readable;
        const kinds = found.get(org) ?? new Map<Readable, Set<string>>();
        found.set(org, kinds.set(kind, (kinds.get(kind) ?? new Set()).add(name)));
      }
    }
  }
  return found;
}
