// `sluice doctor` and `sluice accept-loss` on data folders, whole and damaged; readiness and metrics beside them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { diskProbe } from '../../src/lib/disk-probe.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { logEntry } from '../store/log-entries.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startGateway } from '../support/gateway.ts';
import { PROGRAM } from '../support/program.ts';

interface Ran {
  readonly code: number | null;
  readonly out: string;
}

/** The command in a process of its own. */
async function sluice(...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      out += chunk.toString('utf8');
    });
  const [code] = await once(child, 'close');
  return { code, out };
}

interface Report {
  readonly healthy: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly status: string;
    readonly findings: readonly { readonly why: string }[];
  }[];
}

async function examined(dataDir: string): Promise<Report & { readonly code: number | null }> {
  const { code, out } = await sluice('doctor', '--data-dir', dataDir, '--json');
  return { code, ...(JSON.parse(out) as Report) };
}

const illOf = ({ checks }: Report): string[] =>
  checks.filter(({ status }) => status === 'ill').map(({ name }) => name);
const root = mkdtempSync(join(tmpdir(), 'sluice-doctor-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));

test.serial(
  'a log with a truncated segment: named by the log, /metrics and the doctor; lists are served',
  async (t) => {
    t.timeout(180_000);
    const dataDir = join(root, 'one');
    const env = { GATEWAY_DATA_DIR: dataDir };
    const first = await startGateway(env);
    const { organisationId, workspaceId } = first.app.tenancy;
    t.deepEqual(illOf(await examined(dataDir)), [], 'while it runs');
    await first.close();
    const store = await openSqliteStore({ dataDir, collections: [], logBounds: { block: 20 } });
    const days = [Date.now() - 3 * 86_400_000, Date.now() - 86_400_000];
    const entries = days.flatMap((day, d) =>
      Array.from({ length: 20 }, (_, i) =>
        logEntry({ id: `e${d}-${i}`, organisationId, workspaceId, createdAt: day + i }),
      ),
    );
    await store.requestLog.append(entries);
    await store.makeRollups();
    await store.close();
    const well = await examined(dataDir);
    t.is(well.code, 0);
    t.deepEqual(illOf(well), []);
    t.true(well.healthy);

    const [file = ''] = readdirSync(join(dataDir, 'logs')).filter((name) => name.startsWith('entries-'));
    truncateSync(join(dataDir, 'logs', file), 100);
    const ill = await examined(dataDir);
    t.is(ill.code, 1);
    t.deepEqual(illOf(ill), ['request log']);
    t.true(JSON.stringify(ill).includes(file));
    const printed = await sluice('doctor', '--data-dir', dataDir);
    t.is(printed.code, 1);
    t.regex(printed.out, /^ill {3}request log/m);

    const second = await startGateway(env);
    t.teardown(() => second.close());
    const list = async (): Promise<{ status: number; total: number }> => {
      const answer = await fetch(`${second.origin}/v1/logs?page_size=50`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
      });
      return { status: answer.status, total: ((await answer.json()) as { total: number }).total };
    };
    t.deepEqual(await list(), { status: 200, total: 20 });
    t.deepEqual(await list(), { status: 200, total: 20 });
    const told = second.logLines.filter((line) => line.includes(file));
    t.is(told.length, 1);
    const metrics = await (await fetch(`${second.origin}/metrics`)).text();
    t.regex(metrics, /^sluice_request_log_damaged [1-9]/m);
  },
);

test.serial(
  'a lost state.db or encryption.key stops the start, says what to do, and is accepted by a command',
  async (t) => {
    t.timeout(180_000);
    const dataDir = join(root, 'two');
    await (await startGateway({ GATEWAY_DATA_DIR: dataDir })).close();
    for (const part of ['state.db', 'encryption.key', 'logs', 'sluice.db']) {
      renameSync(join(dataDir, part), join(root, part));
      const refused = await sluice('doctor', '--data-dir', dataDir, '--json');
      t.is(refused.code, 1, part);
      const error = await t.throwsAsync(startGateway({ GATEWAY_DATA_DIR: dataDir }));
      t.true(error?.message.includes(`sluice accept-loss ${part}`), error?.message);
      t.false(readdirSync(dataDir).includes(part), 'it is not made anew');
      renameSync(join(root, part), join(dataDir, part));
    }
    const mended = await startGateway({ GATEWAY_DATA_DIR: dataDir });
    t.is((await fetch(`${mended.origin}/readyz`)).status, 200);
    const held = await sluice('accept-loss', 'state.db', '--data-dir', dataDir);
    t.is(held.code, 1, 'a gateway has it open');
    t.regex(held.out, /in use by another process/);
    await mended.close();
    rmSync(join(dataDir, 'state.db'));
    t.is((await sluice('accept-loss', 'nothing', '--data-dir', dataDir)).code, 1);
    const accepted = await sluice('accept-loss', 'state.db', '--data-dir', dataDir);
    t.is(accepted.code, 0);
    t.regex(accepted.out, /ledger verify --rebuild/);
    await (await startGateway({ GATEWAY_DATA_DIR: dataDir })).close();
  },
);

test('the probe of a disk: fine, gone, and at most once in its time', async (t) => {
  const folder = mkdtempSync(join(root, 'disk-'));
  t.is(await diskProbe({ folders: [folder] })(), undefined);
  t.deepEqual(readdirSync(folder), [], 'it leaves nothing');
  const probe = diskProbe({ folders: [folder], freshMs: 0 });
  rmSync(folder, { recursive: true });
  t.regex((await probe()) ?? '', /ENOENT/);
  const kept = diskProbe({ folders: [folder], freshMs: 60_000 });
  t.is(await kept(), await kept());
});

test('/readyz is 503 while the disk takes no writes, and 200 again after', async (t) => {
  const dataDir = join(root, 'three');
  const gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  t.teardown(() => gateway.close());
  const ready = async (): Promise<number> => (await fetch(`${gateway.origin}/readyz`)).status;
  const until = (status: number): Promise<boolean> =>
    eventually(`/readyz ${status}`, async () => (await ready()) === status);
  t.true(await until(200));
  renameSync(join(dataDir, 'logs'), join(dataDir, 'logs-away'));
  t.true(await until(503));
  renameSync(join(dataDir, 'logs-away'), join(dataDir, 'logs'));
  t.true(await until(200));
});
