// Redis's adapter: the contract of shared state over two clients.
import test from 'ava';
import { Redis } from 'ioredis';
import { redisServer, reportMissing } from '../support/servers.ts';
import { sharedStateContract } from './shared-state.contract.ts';
import { clearRedis, freshOrg, openRedis } from './shared-stores.ts';

const server = await redisServer();

if (!server) {
  reportMissing(test, 'Redis');
} else {
  const { url } = server;
  const clients = [await openRedis(url), await openRedis(url)];
  test.after.always(async () => {
    for (const client of clients) await client.close();
    await clearRedis(url);
  });

  sharedStateContract(test, async () => clients);

  test.serial('scripts that the server forgot are loaded again', async (t) => {
    const [client] = clients;
    const org = freshOrg();
    const redis = new Redis(url);
    await redis.script('FLUSH');
    redis.disconnect();
    const limits = [{ kind: 'window', key: 'w', limit: 1, windowMs: 1000, cost: 1 } as const];
    t.is((await client?.admit(org, { limits }))?.outcome, 'admitted');
  });

  test('windows, leases and settled ids leave Redis by themselves', async (t) => {
    const [client] = clients;
    const org = freshOrg();
    const hold = { id: 'a', owner: 'o', leaseMs: 1000 };
    await client?.admit(org, {
      limits: [{ kind: 'window', key: 'w', limit: 1, windowMs: 1000, cost: 1 }],
      hold,
    });
    await client?.settle(org, { id: 'a' });
    await client?.acquireLease(org, { key: 'l', owner: 'o', leaseMs: 1000 });
    const redis = new Redis(url);
    const keys = await redis.keys(`sluice:{${org}}:*`);
    const ends = await Promise.all(keys.map((key) => redis.pttl(key)));
    redis.disconnect();
    const kept = keys.filter((_, i) => (ends[i] ?? -1) < 0).map((key) => key.slice(key.indexOf('}:') + 2));
    t.deepEqual(kept, ['l!']);
  });
}
