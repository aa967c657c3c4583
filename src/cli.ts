// The `sluice` command: reads the environment, starts, stops on a signal.
import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { parseArgs } from 'node:util';
import { CommanderError } from 'commander';
import { createChain } from './access/audit/chain.ts';
import { ensureFirstKeys, ensureTenancy, type FirstKeys, storeGivenKeys } from './access/bootstrap.ts';
import { encryptionKeyFrom } from './access/encryption-key.ts';
import { createKey } from './access/keys.ts';
import { createOrganisation } from './access/new-organisation.ts';
import { addMasterKey, dropOldMasterKeys, rotateDataKeys } from './access/rotate-command.ts';
import { INFERENCE_SCOPES, scopesOf } from './access/scopes.ts';
import { controlPath } from './app/control.ts';
import { COLLECTIONS, openStores } from './app/stores.ts';
import { STORE_WAIT_MS } from './app/stores-away.ts';
import { runWorkers } from './app/workers/primary.ts';
import { startApp } from './app.ts';
import type { KeyKind } from './call/principal.ts';
import { bannerOf } from './cli/banner.ts';
import { type Remote, withGateway } from './cli/client.ts';
import { doctor } from './cli/doctor/doctor.ts';
import * as lists from './cli/list-commands.ts';
import { outputTo } from './cli/output.ts';
import { prettyLog } from './cli/pretty-log.ts';
import { program, type Run } from './cli/program.ts';
import * as state from './cli/state-commands.ts';
import { version, versionAsked } from './cli/usage.ts';
import { callControl, reachesControl } from './lib/control-socket.ts';
import { DeclaredFaults } from './lib/declared-files.ts';
import { giveMemoryBackWhenIdle } from './lib/idle-memory.ts';
import { readSettings, SettingsError, strangeVariables } from './settings.ts';
import { acceptLoss } from './store/data-folder/accept-loss.ts';
import { lockDataDir } from './store/sqlite/data-dir.ts';
import { createLog } from './telemetry/log.ts';

/** Resident bytes of this process that are given back when it is idle; under steady load it has 200 to 400 MB. */
const MUCH_MEMORY = 448 * 2 ** 20;

/** Options of `start`, by the variable that each stands for. */
const START_OPTIONS = { port: 'PORT', host: 'HOST', dataDir: 'GATEWAY_DATA_DIR' } as const;

const start: Run = async (_args, options) => {
  for (const [name, variable] of Object.entries(START_OPTIONS)) {
    const value = options[name];
    // Further processes of this gateway read it from there.
    if (typeof value === 'string') process.env[variable] = value;
  }
  for (const line of strangeVariables(process.env)) process.stderr.write(`${line}\n`);
  const settings = readSettings(process.env);
  const log = createLog(settings.logLevel, prettyLog(process.stdout, process.env));
  const about = {
    givenBy: [
      ...(settings.adminApiKey === undefined ? [] : ['GATEWAY_ADMIN_API_KEY']),
      ...(settings.apiKey === undefined ? [] : ['GATEWAY_API_KEY']),
    ],
    variables: process.env,
    providers: settings.environmentProviders.providers.map(({ slug }) => slug),
  };
  if (settings.workers > 1 && cluster.isPrimary) {
    const { workers } = settings;
    const onReady = (url: string, firstKeys: FirstKeys): void => {
      process.stdout.write(bannerOf({ ...about, url, firstKeys, processes: workers }));
    };
    process.exitCode = await runWorkers({ workers, log, onReady });
    return;
  }
  const app = await startApp(settings, log, STORE_WAIT_MS);
  giveMemoryBackWhenIdle(MUCH_MEMORY);
  const scheme = settings.tls ? 'https' : 'http';
  const host = app.address.family === 'IPv6' ? `[${app.address.address}]` : app.address.address;
  const url = `${scheme}://${host}:${app.address.port}`;
  if (app.link === undefined) process.stdout.write(bannerOf({ ...about, url, firstKeys: app.firstKeys }));

  let stopping = false;
  const stop = (why: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'draining');
    app.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, 'the stop failed');
        process.exit(1);
      },
    );
  };
  const onSignal = (signal: string): void => {
    // A second signal does not wait for open calls; the first process knows of both.
    if (stopping && app.link === undefined) process.exit(1);
    if (app.link === undefined || signal === 'SIGTERM') stop(signal);
  };
  process.on('SIGTERM', () => onSignal('SIGTERM'));
  process.on('SIGINT', () => onSignal('SIGINT'));
  app.link?.onStop(stop);
  app.link?.ready(url, app.firstKeys);
  // A process that is killed later keeps what it compiled; there is nothing to write but after a first start.
  flushCompileCache();
};

/** Keys that the gateway made are shown here and nowhere else, at each start until they were used. */
function showFirstKeys({ admin, workspace }: FirstKeys, out: NodeJS.WritableStream): void {
  if (admin) out.write(`Admin API key, shown until it is used once:     ${admin.secret}\n`);
  if (workspace) out.write(`Workspace API key, shown until it is used once: ${workspace.secret}\n`);
}

const createKeyCommand: Run = async (_args, options) => {
  const { name, kind = 'workspace-service', scopes, workspace, json } = options;
  if (typeof name !== 'string' || name === '') throw new Error('--name is needed: what people call the key');
  if (kind !== 'organisation-service' && kind !== 'workspace-service')
    throw new Error('--kind must be organisation-service or workspace-service');
  const asked: lists.NewKeyOptions = {
    ...remoteOf(options),
    name,
    kind,
    ...optional({ scopes, workspace }),
  };
  const made = (await isRemote(asked))
    ? await withGateway(asked, process.env, (gateway) =>
        lists.createKey(gateway, asked, kind === 'organisation-service' ? scopesOf(kind) : INFERENCE_SCOPES),
      )
    : await createStoredKey(name, kind, asked.scopes);
  if (json) out.json({ id: made.id, key: made.key });
  else out.line(made.key);
};

/** Whether a gateway is asked; else the store is opened, which no gateway has open. */
async function isRemote({ url, dataDir }: Remote): Promise<boolean> {
  if (url !== undefined || dataDir !== undefined || (process.env.SLUICE_URL ?? '') !== '') return true;
  const settings = readSettings(process.env);
  return settings.mongodbUri === undefined && reachesControl(controlPath(settings.dataDir));
}

async function createStoredKey(
  name: string,
  kind: KeyKind,
  scopes: string | undefined,
): Promise<{ readonly id: string; readonly key: string }> {
  const settings = readSettings(process.env);
  const { documents, hasher, close } = await openStores(settings);
  try {
    const facts = { documents, hasher, now: Date.now };
    const given = { adminKey: settings.adminApiKey, workspaceKey: settings.apiKey };
    const tenancy = await ensureTenancy(facts);
    await storeGivenKeys(facts, tenancy, given);
    showFirstKeys(await ensureFirstKeys(facts, tenancy, given), process.stderr);
    const { organisationId, workspaceId } = tenancy;
    const organisationWide = kind === 'organisation-service';
    let id = '';
    const key = await createKey(
      facts,
      {
        name,
        kind,
        organisationId,
        workspaceId: organisationWide ? undefined : workspaceId,
        scopes: scopes?.split(',') ?? (organisationWide ? scopesOf(kind) : INFERENCE_SCOPES),
      },
      ({ document }) => {
        id = document.id;
        return [];
      },
    );
    return { id, key };
  } finally {
    await close();
  }
}

/** New keys for who has lost theirs; the earlier ones count until they are revoked. */
const recoverCommand: Run = async (_args, options) => {
  const remote = remoteOf(options);
  const made = await withGateway(remote, process.env, async (gateway) => ({
    admin: await lists.createKey(
      gateway,
      { name: 'Recovered admin key', kind: 'organisation-service' },
      scopesOf('organisation-service'),
    ),
    workspace: await lists.createKey(
      gateway,
      { name: 'Recovered workspace key', kind: 'workspace-service' },
      INFERENCE_SCOPES,
    ),
  }));
  if (options.json) return out.json(made);
  out.line(`Admin API key:     ${made.admin.key}`);
  out.line(`Workspace API key: ${made.workspace.key}`);
  out.line('Earlier keys still count: sluice keys list, sluice keys revoke ID.');
};

/** Exit code: done, but for secrets that cannot be opened. */
const UNREADABLE = 2;

async function rotateEncryptionCommand(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { 'new-master': { type: 'string' }, 'drop-old-masters': { type: 'boolean', default: false } },
  });
  const { 'new-master': source, 'drop-old-masters': drop } = values;
  if (source !== undefined && drop)
    throw new Error('--drop-old-masters comes after the restart with the new key');
  const settings = readSettings(process.env);
  const given = source === 'env' ? settings.newEncryptionKey : source && encryptionKeyFrom(source);
  if (source !== undefined && !given) throw new SettingsError('GATEWAY_NEW_ENCRYPTION_KEY: is not set');
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  if (settings.mongodbUri === undefined && !given && !drop) {
    // A gateway that runs on an embedded store does it itself.
    const done = await callControl(controlPath(settings.dataDir), 'rotate-encryption', say);
    if (done === false) process.exitCode = UNREADABLE;
    if (done !== undefined) return;
  }
  const { rotation, close } = await openStores(settings);
  const facts = { ...rotation, say };
  try {
    if (given) return await addMasterKey(facts, given);
    if (drop) await dropOldMasterKeys(facts);
    if (!(await rotateDataKeys(facts))) process.exitCode = UNREADABLE;
  } finally {
    await close();
  }
}

async function createOrganisationCommand(args: readonly string[]): Promise<void> {
  const text = { type: 'string', default: '' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: text,
      'owner-email': text,
      handle: text,
      'owner-first-name': text,
      'owner-last-name': text,
    },
  });
  const { name, 'owner-email': ownerEmail } = values;
  const handle = values.handle || name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  if (name.trim() === '' || !/^[^@\s]+@[^@\s]+$/.test(ownerEmail) || !/^[a-z0-9_-]{1,64}$/.test(handle))
    throw new Error('--name, --owner-email and a handle of letters, digits, _ and - are needed');
  const { documents, hasher, close } = await openStores(readSettings(process.env));
  try {
    const facts = { chain: createChain({ documents }), hasher, now: Date.now };
    const made = await createOrganisation(facts, {
      handle,
      name,
      ownerEmail,
      ownerFirstName: values['owner-first-name'],
      ownerLastName: values['owner-last-name'],
    });
    process.stderr.write(`Organisation ${made.organisationId}, workspace ${made.workspaceId}.\n`);
    process.stderr.write('Its admin API key, shown once:\n');
    process.stdout.write(`${made.adminKey}\n`);
  } finally {
    await close();
  }
}

async function migrateCommand(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { from: { type: 'string' } } });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const facts = { settings: readSettings(process.env), collections: COLLECTIONS, say };
  const [{ migrateFrom }, { migrateInPlace }] = await Promise.all([
    import('./migrate/copy.ts'),
    import('./migrate/in-place.ts'),
  ]);
  const done = values.from === undefined ? migrateInPlace(facts) : migrateFrom(facts, values.from);
  if (!(await done)) process.exitCode = 1;
}

async function reRateCommand(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { from: text, to: text, organisation: text, model: text, 'dry-run': { type: 'boolean' } },
  });
  const { reRateCommand: run } = await import('./app/re-rate-command.ts');
  await run(readSettings(process.env), values, (line) => void process.stdout.write(`${line}\n`));
}

async function verifyCommand(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { organisation: { type: 'string' }, rebuild: { type: 'boolean' } },
  });
  const { verifyCommand: run } = await import('./app/verify.ts');
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  if (!(await run(readSettings(process.env), values, say))) process.exitCode = 1;
}

async function doctorCommand(args: readonly string[]): Promise<void> {
  const print = (text: string): void => void process.stdout.write(text);
  if (!(await doctor(args, () => readSettings(process.env), print))) process.exitCode = 1;
}

/** The folder is held meanwhile: no gateway has it open. */
async function acceptLossCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { 'data-dir': { type: 'string' } },
  });
  const { 'data-dir': dataDir = readSettings(process.env).dataDir } = values;
  if (!existsSync(dataDir)) throw new Error(`--data-dir: there is no folder ${dataDir}`);
  const lock = lockDataDir(dataDir);
  try {
    for (const part of positionals)
      for (const line of acceptLoss(dataDir, part)) process.stdout.write(`${line}\n`);
  } finally {
    lock.release();
  }
}

const out = outputTo(process.stdout, process.env);

type Options = Parameters<Run>[1];

function remoteOf({ url, key, dataDir, json }: Options): Remote & { readonly json: boolean } {
  return { json: json === true, ...optional({ url, key, dataDir }) };
}

/** The texts among some options. */
function optional(options: Options): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** A command on declared state. */
const stateOf = (options: Options): state.StateOptions => ({
  file: 'sluice.yaml',
  ...remoteOf(options),
  ...optional({ file: options.file, source: options.source }),
});

const diffCommand: Run = async (_args, options) => {
  try {
    if (await state.diff(stateOf(options), process.env, out)) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 2;
  }
};

/** Standard output is the protocol's alone; the exit code is 0 when the client has closed its end. */
const mcpCommand: Run = async (_args, options, [server]) => {
  const { serveStdio } = await import('./cli/mcp/stdio-command.ts');
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  process.stdout.once('error', () => stop.abort());
  const streams = { input: process.stdin, output: process.stdout, errors: process.stderr };
  await serveStdio(
    server,
    optional({ url: options.url, key: options.key }),
    process.env,
    streams,
    stop.signal,
  );
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.exit(0);
};

/** Commands that read their own arguments. */
const legacy =
  (run: (args: readonly string[]) => Promise<void>): Run =>
  (args) =>
    run(args);

/** By its words. */
const RUNS: ReadonlyMap<string, Run> = new Map<string, Run>([
  ['start', start],
  ['doctor', legacy(doctorCommand)],
  ['accept-loss', legacy(acceptLossCommand)],
  ['keys list', (_, options) => lists.listKeys(remoteOf(options), process.env, out)],
  ['keys create', createKeyCommand],
  ['keys revoke', (_, options, [id = '']) => lists.revokeKey(id, remoteOf(options), process.env, out)],
  ['keys rotate', (_, options, [id = '']) => lists.rotateKey(id, remoteOf(options), process.env, out)],
  ['keys recover', recoverCommand],
  ['keys rotate-encryption', legacy(rotateEncryptionCommand)],
  [
    'providers list',
    (_, options) =>
      lists.listProviders(
        { ...remoteOf(options), ...optional({ workspace: options.workspace }) },
        process.env,
        out,
      ),
  ],
  ['budgets list', (_, options) => lists.listBudgets(remoteOf(options), process.env, out)],
  [
    'logs tail',
    (_, options) =>
      lists.tailLogs(
        { ...remoteOf(options), lines: String(options.lines), follow: options.follow !== false },
        process.env,
        out,
      ),
  ],
  ['mcp', mcpCommand],
  ['plan', (_, options) => state.plan(stateOf(options), process.env, out)],
  ['apply', (_, options) => state.apply(stateOf(options), process.env, out)],
  ['diff', diffCommand],
  ['export', (_, options) => state.exportState(remoteOf(options), process.env, out)],
  ['organisations create', legacy(createOrganisationCommand)],
  ['migrate', legacy(migrateCommand)],
  ['ledger re-rate', legacy(reRateCommand)],
  ['ledger verify', legacy(verifyCommand)],
]);

/** Runs a command line. A failure prints its reason, and the exit code is 1. */
export async function runCommand(args: readonly string[]): Promise<void> {
  if (versionAsked(args)) return void process.stdout.write(`${version()}\n`);
  try {
    await program(RUNS, args).parseAsync([...args], { from: 'user' });
  } catch (error) {
    // What the parser refuses it has told already.
    if (error instanceof CommanderError) process.exit(error.exitCode);
    process.stderr.write(`${messageOf(error)}\n`);
    if (error instanceof DeclaredFaults && args.includes('--json')) out.json({ faults: error.faults });
    process.exit(1);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
