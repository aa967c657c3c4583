// `sluice migrate`, `ledger re-rate|verify`, `doctor` and `accept-loss`: what looks at a store itself.
import { parseArgs } from 'node:util';
import { readSettings } from '../settings.ts';
import { settingsFor, storeSettings } from './client.ts';
import type { Terminal } from './output.ts';

const text = { type: 'string' } as const;

/** Resolves with the exit code. */
type StoreCommand = (args: readonly string[], terminal: Terminal) => Promise<number>;

export const migrateCommand: StoreCommand = async (args, { env, out }) => {
  const { values } = parseArgs({ args: [...args], options: { from: text, 'data-dir': text } });
  const [{ COLLECTIONS }, { migrateFrom }, { migrateInPlace }] = await Promise.all([
    import('../app/stores.ts'),
    import('../migrate/copy.ts'),
    import('../migrate/in-place.ts'),
  ]);
  const at = { dataDir: values['data-dir'] };
  const settings = values.from === undefined ? storeSettings(at, env) : settingsFor(at, env);
  const facts = { settings, collections: COLLECTIONS, say: out.line };
  const done = values.from === undefined ? migrateInPlace(facts) : migrateFrom(facts, values.from);
  return (await done) ? 0 : 1;
};

/** Costs of entries, worked out again. */
export const reRateCommand: StoreCommand = async (args, { env, out }) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      from: text,
      to: text,
      organisation: text,
      model: text,
      'data-dir': text,
      'dry-run': { type: 'boolean' },
    },
  });
  const { 'data-dir': dataDir, ...asked } = values;
  const { reRateCommand: run } = await import('../app/re-rate-command.ts');
  await run(storeSettings({ dataDir }, env), asked, out.line);
  return 0;
};

/** The books against the entries. */
export const verifyCommand: StoreCommand = async (args, { env, out }) => {
  const { values } = parseArgs({
    args: [...args],
    options: { organisation: text, 'data-dir': text, rebuild: { type: 'boolean' } },
  });
  const { 'data-dir': dataDir, ...asked } = values;
  const { verifyCommand: run } = await import('../app/verify.ts');
  return (await run(storeSettings({ dataDir }, env), asked, out.line)) ? 0 : 1;
};

export const doctorCommand: StoreCommand = async (args, { env, out }) => {
  const { doctor } = await import('./doctor/doctor.ts');
  const isWell = await doctor(
    args,
    () => readSettings(env),
    (lines) => out.line(lines.replace(/\n$/, '')),
  );
  return isWell ? 0 : 1;
};

/** The folder is held meanwhile: no gateway has it open. */
export const acceptLossCommand: StoreCommand = async (args, { env, out }) => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { 'data-dir': text },
  });
  const { dataDir } = storeSettings({ dataDir: values['data-dir'] }, env);
  const [{ acceptLoss }, { lockDataDir }] = await Promise.all([
    import('../store/data-folder/accept-loss.ts'),
    import('../store/sqlite/data-dir.ts'),
  ]);
  const lock = lockDataDir(dataDir);
  try {
    for (const part of positionals) for (const line of acceptLoss(dataDir, part)) out.line(line);
  } finally {
    lock.release();
  }
  return 0;
};
