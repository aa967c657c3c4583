// `sluice start`: reads the environment, starts, stops on a signal.
import cluster from 'node:cluster';
import { flushCompileCache } from 'node:module';
import type { FirstKeys } from '../access/bootstrap.ts';
import { STORE_WAIT_MS } from '../app/stores-away.ts';
import { startApp } from '../app.ts';
import { keepCode } from '../lib/code-cache.ts';
import { giveMemoryBackWhenIdle } from '../lib/idle-memory.ts';
import { shrinkYoungWhenIdle } from '../lib/shrink-young.ts';
import { readSettings, type Settings, SettingsError, strangeVariables } from '../settings.ts';
import { createLog } from '../telemetry/log.ts';
import { bannerOf } from './banner.ts';
import { prettyLog } from './pretty-log.ts';
import type { Options } from './remote-options.ts';

/** Resident bytes of this process from which on memory is given back after a minute without load. */
const MUCH_MEMORY = 192 * 2 ** 20;

/** After the start: what the first calls run is kept with it. */
const KEEP_CODE_MS = 4000;

/** Options of `start`, by the variable that each stands for. */
const START_OPTIONS = {
  port: { variable: 'PORT', flag: '--port' },
  host: { variable: 'HOST', flag: '--host' },
  dataDir: { variable: 'GATEWAY_DATA_DIR', flag: '--data-dir' },
} as const;

/** Runs until a signal stops it. @throws Error for people when the start is not possible */
export async function start(options: Options): Promise<void> {
  for (const [name, { variable, flag }] of Object.entries(START_OPTIONS)) {
    const value = options[name];
    if (value === '') throw new Error(`${flag}: is empty`);
    // Further processes of this gateway read it from there.
    if (typeof value === 'string') process.env[variable] = value;
  }
  for (const line of strangeVariables(process.env)) process.stderr.write(`${line}\n`);
  const settings = settingsOf(options);
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
    const { runWorkers } = await import('../app/workers/primary.ts');
    const onReady = (url: string, firstKeys: FirstKeys): void => {
      process.stdout.write(bannerOf({ ...about, url, firstKeys, processes: workers }));
    };
    process.exitCode = await runWorkers({ workers, log, onReady });
    return;
  }
  const app = await startApp(settings, log, STORE_WAIT_MS);
  giveMemoryBackWhenIdle(MUCH_MEMORY);
  shrinkYoungWhenIdle();
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
  setTimeout(() => void keepCode(), KEEP_CODE_MS).unref();
}

/** A wrong value is told by the name that it was given by. @throws SettingsError */
function settingsOf(options: Options): Settings {
  try {
    return readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    let { message } = error;
    for (const [name, { variable, flag }] of Object.entries(START_OPTIONS))
      if (options[name] !== undefined)
        message = message.replace(new RegExp(`^${variable}: `, 'm'), `${flag}: `);
    throw new SettingsError(message);
  }
}
