// A start while MongoDB or Redis is away: one line with the address, no credential, another try until it is there.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { storeAddress } from '../../src/app/store-addresses.ts';
import { openedWhenThere, RedisWatch } from '../../src/app/stores-away.ts';
import { fail } from '../../src/lib/errors.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startGateway } from '../support/gateway.ts';

function logged() {
  const lines: { level: number; msg: string }[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { lines, log };
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('an address is shown without its credentials', (t) => {
  for (const [uri, shown] of [
    ['mongodb://u:p@ss/x', 'ss'],
    ['mongodb://user:pass@one:27017,two:27018/db?x=1', 'one:27017,two:27018'],
    ['mongodb+srv://user:pass@cluster.example.com', 'cluster.example.com'],
    ['redis://:pass@one:6379', 'one:6379'],
    ['rediss://u:p@one:1,rediss://u:p@two:2/0', 'one:1, two:2'],
  ] as const)
    t.is(storeAddress(uri), shown);
});

test('a gateway starts without its Redis, and says so once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-away-'));
  const port = await closedPort();
  const gateway = await startGateway({
    GATEWAY_DATA_DIR: folder,
    REDIS_URL: `redis://:very-secret@127.0.0.1:${port}`,
    GATEWAY_PROVIDERS_FROM_ENV: '0',
  });
  t.teardown(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, force: true });
  });
  // Work of the background that needs Redis runs several times in this time.
  await sleep(3000);
  const told = gateway.logLines.filter((line) => /Redis|shared store/.test(line));
  t.is(told.length, 1, told.join(''));
  t.regex(told[0]!, new RegExp(`Redis does not answer at 127\\.0\\.0\\.1:${port}: it is tried again`));
  t.false(gateway.logLines.join('').includes('very-secret'));
});

test('what fails while Redis is there is told, and its return is', async (t) => {
  const { lines, log } = logged();
  let there = true;
  const watch = new RedisWatch(log, 'host:1', async () => {
    if (!there) throw new Error('away');
  });
  const quiet = watch.quiet();
  const err = fail('store_unavailable', 'the shared store failed; the step may have been made');
  quiet.error({ err }, 'first');
  quiet.error({ err: new Error('another') }, 'other');
  await until(() => lines.length === 2);
  t.deepEqual(lines.map(({ msg }) => msg).sort(), ['first', 'other']);
  there = false;
  for (let i = 0; i < 50; i++) quiet.warn({ err: new Error('outer', { cause: err }) }, 'lost');
  await until(() => lines.length === 3);
  for (let i = 0; i < 50; i++) quiet.warn({ err }, 'lost');
  there = true;
  await until(() => lines.some(({ msg }) => msg === 'Redis answers'));
  t.deepEqual(
    lines.slice(2).map(({ msg }) => msg),
    ['Redis does not answer at host:1: it is tried again', 'Redis answers'],
  );
});

test('MongoDB is waited for, with one line, and what it refuses ends the start', async (t) => {
  const { lines, log } = logged();
  let tries = 0;
  const opened = await openedWhenThere(
    async () => {
      if (++tries < 3)
        throw fail('store_unavailable', 'MongoDB cannot be reached at the address in MONGODB_URI');
      return 'open';
    },
    { log, address: 'host:2', waitMs: 60_000 },
  );
  t.is(opened, 'open');
  t.deepEqual(
    lines.map(({ msg }) => msg),
    ['MongoDB does not answer at host:2: it is tried again', 'MongoDB answers'],
  );
  const refused = () =>
    Promise.reject(fail('store_unavailable', 'MongoDB refuses the credentials of MONGODB_URI'));
  await t.throwsAsync(openedWhenThere(refused, { log, address: 'host:2', waitMs: 60_000 }), {
    message: /credentials/,
  });
  t.is(lines.length, 2);
});

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 3000 && !holds(); i++) await sleep(10);
}
