// Every RPC, by callers of every kind, with messages of every kind, among two tenants: nothing fails inside, and
// neither tenant learns or changes anything of the other's.
//   FUZZ_CALLS   calls by each tenant's callers; 2,000 by default
//   FUZZ_SEED    repeats a run's choices (calls run side by side, so answers may still differ)
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createChain } from '../../src/access/audit/chain.ts';
import { createOrganisation, type MadeOrganisation } from '../../src/access/new-organisation.ts';
import { openStores } from '../../src/app/stores.ts';
import { logExports } from '../../src/ledger/exports/collection.ts';
import { readSettings } from '../../src/settings.ts';
import { type Bench, PROVIDER_KEY, startBench } from '../contract/runner.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { createDice } from './fuzz/dice.ts';
import { rowsOf } from './fuzz/rows.ts';
import { type Count, type Storm, storm } from './fuzz/run.ts';
import { plantTenant, type Tenant } from './fuzz/tenant.ts';

const CALLS = Number(process.env.FUZZ_CALLS ?? 2000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const dice = createDice(SEED);
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
let bench: Bench;
let tenants: readonly [Tenant, Tenant];

test.before(async () => {
  const { documents, hasher, close } = await openStores(readSettings({ GATEWAY_DATA_DIR: dataDir }));
  const facts = { chain: createChain({ documents }), hasher, now: Date.now };
  const made: MadeOrganisation[] = [];
  const canaries = ['canaryelm7f31', 'canaryoak9b52'];
  for (const canary of canaries) {
    const owner = {
      ownerEmail: `owner.${canary}@people.test`,
      ownerFirstName: canary,
      ownerLastName: canary,
    };
    made.push(await createOrganisation(facts, { handle: canary, name: canary, ...owner }));
  }
  await close();
  bench = await startBench({ GATEWAY_DATA_DIR: dataDir });
  const ground = { gateway: bench.gateway.origin, provider: bench.provider.origin, dice };
  const [first, second] = made as [MadeOrganisation, MadeOrganisation];
  tenants = [
    await plantTenant(ground, first, canaries[0] as string),
    await plantTenant(ground, second, canaries[1] as string),
  ];
  await bench.gateway.app.requestLog.flush();
});

test.after.always(async () => {
  await bench?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

for (const [at, name] of ['the first', 'the second'].entries()) {
  test.serial(`callers of ${name} tenant neither break anything nor meet the other tenant`, async (t) => {
    t.timeout(240_000 + CALLS * 50);
    const attacker = tenants[at] as Tenant;
    const victim = tenants[1 - at] as Tenant;
    await settled();
    await eventually('the end of the victim’s exports', () => !isExporting(victim));
    const before = rowsOf(dataDir, victim.organisationId);
    t.true(before.size > 60, 'the victim has something of everything');
    const { counts, faults, audited } = await storm({ bench, dice, attacker, victim, calls: CALLS });
    t.log(`FUZZ_SEED=${SEED} FUZZ_CALLS=${CALLS}\n${table(counts)}`);
    t.deepEqual(faults.slice(0, 5), [], `${faults.length} faults`);
    await settled();
    t.deepEqual(changesOf(before, rowsOf(dataDir, victim.organisationId)).slice(0, 5), []);
    deep(t, counts);
    const rows = rowsOf(dataDir, attacker.organisationId);
    t.deepEqual(untold(audited, rows).slice(0, 5), [], 'calls without their entry in the audit log');
    const kept = [...rows.values(), ...bench.gateway.logLines].join('\n');
    for (const secret of [...attacker.secrets, ...victim.secrets, PROVIDER_KEY])
      if (secret.length > 20) t.false(kept.includes(secret), 'a secret in the store or in the log');
    for (const { callers } of tenants) t.true(await isWhole(callers[0]?.key ?? ''), 'the audit log is whole');
  });
}

/** What is written behind the calls is written: whoever reads the audit log waits for it. */
async function settled(): Promise<void> {
  await fetch(`${bench.gateway.origin}/v1/audit-logs`, { headers: { 'x-gateway-api-key': ADMIN_KEY } });
  await bench.gateway.app.requestLog.flush();
}

/** Whether an export is being written: its document changes without a call. */
function isExporting({ organisationId }: Tenant): boolean {
  return [...rowsOf(dataDir, organisationId)].some(
    ([place, row]) => place.startsWith(`c_${logExports.name} `) && row.includes('in_progress'),
  );
}

/** Calls that the audit log does not tell of, or otherwise than they ended. */
function untold(audited: Storm['audited'], rows: ReadonlyMap<string, string>): string[] {
  const told = new Map<string, string>();
  for (const [place, row] of rows) {
    if (!place.startsWith('c_audit_entries ')) continue;
    const { requestId, outcome } = JSON.parse((JSON.parse(row) as { body: string }).body) as Record<
      string,
      string
    >;
    if (requestId !== undefined && outcome !== undefined) told.set(requestId, outcome);
  }
  return [...audited]
    .filter(([id, { outcome }]) => told.get(id) !== outcome)
    .map(([id, { outcome, what }]) => `${what}: ${outcome}, told as ${told.get(id)}`);
}

async function isWhole(key: string): Promise<boolean> {
  const answer = await fetch(`${bench.gateway.origin}/v1/audit-logs/verify`, {
    headers: { 'x-gateway-api-key': key },
  });
  return ((await answer.json()) as { valid: boolean }).valid;
}

function deep(t: { true(actual: boolean, message: string): void }, counts: Storm['counts']): void {
  const all: Count = { calls: 0, valid: 0, reached: 0, ok: 0 };
  for (const [name, count] of counts) {
    // In short runs chance alone may leave a method out.
    if (count.calls >= 60) t.true(count.valid > 0, `${name}: no valid message`);
    if (count.calls >= 60) t.true(count.reached > 0, `${name}: never reached`);
    for (const part of ['calls', 'valid', 'reached', 'ok'] as const) all[part] += count[part];
  }
  t.true(all.valid >= 0.5 * all.calls && all.reached >= 0.3 * all.calls, 'too few calls get anywhere');
}

function changesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `${name}: ${before.get(name)} became ${after.get(name)}`.slice(0, 2000));
}

function table(counts: Storm['counts']): string {
  const percent = (part: number, of: number): string =>
    `${of === 0 ? 0 : Math.round((100 * part) / of)} %`.padStart(6);
  return [...counts]
    .map(
      ([name, { calls, valid, reached, ok }]) =>
        `${name.padEnd(28)} ${`${calls}`.padStart(5)} calls, valid ${percent(valid, calls)}, past validation and access ${percent(reached, calls)}, ok ${percent(ok, calls)}`,
    )
    .join('\n');
}
