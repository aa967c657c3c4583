// The contract of shared state on a Redis cluster of three nodes: every key of an organisation is on one of them.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Redis } from 'ioredis';
import { openRedisTransfer } from '../../src/store/redis/transfer.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { type StateRow, stateRowText } from '../../src/store/state-transfer.ts';
import { type ServerKind, type ServerProcess, startServer } from '../support/servers/process.ts';
import { redisKind } from '../support/servers/redis.ts';
import { reportMissing } from '../support/servers.ts';
import { sharedStateContract } from './shared-state.contract.ts';
import { freshOrg, openRedis } from './shared-stores.ts';

const NODES = 3;
const SLOTS = 16_384;

async function startCluster(kind: ServerKind): Promise<readonly ServerProcess[]> {
  const clustered: ServerKind = {
    ...kind,
    command: (port, folder) => [...kind.command(port, folder), '--cluster-enabled', 'yes'],
  };
  const nodes = await Promise.all(Array.from({ length: NODES }, () => startServer(clustered)));
  const admins = nodes.map(({ port }) => new Redis(port));
  for (const [i, admin] of admins.entries()) {
    const [from, to] = [Math.floor((SLOTS / NODES) * i), Math.floor((SLOTS / NODES) * (i + 1)) - 1];
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
  for (const { port } of nodes.slice(1)) await admins[0]?.call('CLUSTER', 'MEET', '127.0.0.1', port);
  for (const admin of admins) {
    while (!String(await admin.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) await sleep(50);
    admin.disconnect();
  }
  return nodes;
}

const kind = redisKind();
if (kind === undefined) {
  reportMissing(test, 'Redis');
} else {
  const nodes = await startCluster(kind);
  const url = nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(',');
  const clients: readonly SharedState[] = [await openRedis(url), await openRedis(url)];
  test.after.always(async () => {
    for (const client of clients) await client.close();
    for (const node of nodes) await node.stop();
  });

  sharedStateContract(test, async () => clients);

  test('rows are carried to every node and read back', async (t) => {
    const transfer = await openRedisTransfer({ url });
    const rows = Array.from({ length: 40 }, (_, i): StateRow[] => {
      const org = freshOrg();
      return [
        { kind: 'budget', org, key: `b${i}`, spent: '12345678901234567890', held: String(i) },
        { kind: 'hold', org, id: 'h', owner: 'o', expiresAt: 1, note: 'n', items: [['b', `b${i}`, '1']] },
        { kind: 'journal', org, seq: 1, id: 'e', madeAt: 2, data: 'd' },
        { kind: 'journal_head', org, tail: 1, claimedTo: 0 },
      ];
    }).flat();
    t.true((await transfer.write(rows)).every((outcome) => outcome === 'written'));
    const found: string[] = [];
    for await (const batch of transfer.rows(new Set(rows.map(({ org }) => org)))) {
      found.push(...batch.map(stateRowText));
    }
    t.deepEqual(found.sort(), rows.map(stateRowText).sort());
    transfer.close();
  });

  test('organisations are spread over the nodes', async (t) => {
    for (let i = 0; i < 40; i++) {
      const limits = [{ kind: 'budget', key: 'b', amount: 1n } as const];
      await clients[0]?.admit(freshOrg(), { limits, hold: { id: 'a', owner: 'o', leaseMs: 1000 } });
    }
    for (const { port } of nodes) {
      const admin = new Redis(port);
      t.true((await admin.dbsize()) > 3);
      admin.disconnect();
    }
  });
}
