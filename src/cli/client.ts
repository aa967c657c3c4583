// How commands reach a gateway: over its port with a key, or by its data folder.
import { existsSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Operator } from '../app/operator.ts';
import { controlPath, holdControl } from '../lib/control-socket.ts';
import { byteCall, jsonCall } from '../lib/json-call.ts';
import { readSettings, type Settings } from '../settings.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** The options that say which gateway. */
export interface Remote {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly dataDir?: string | undefined;
}

/** A gateway that answers. */
export interface Gateway {
  /** @param path after /v1 @throws ApiError */
  call(verb: string, path: string, body?: JsonObject): Promise<JsonObject>;
  /** Writes the bytes of an address of its own. @param path from the root @throws Error when they do not come whole */
  fetch(path: string, to: NodeJS.WritableStream, options?: { readonly end: boolean }): Promise<void>;
}

/** A refusal of the gateway. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly violations: readonly { readonly field: string; readonly message: string }[];

  constructor(status: number, message: string, violations: ApiError['violations'] = []) {
    super(message);
    this.status = status;
    this.violations = violations;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;
const TIMEOUT_MS = 120_000;

/** Runs work with the gateway that the options or the environment name. @throws Error when there is none */
export async function withGateway<T>(
  remote: Remote,
  env: Environment,
  work: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const url = remote.url ?? (remote.dataDir === undefined ? env.SLUICE_URL : undefined);
  if (url !== undefined && url !== '') {
    const key = remote.key ?? env.SLUICE_KEY;
    if (key === undefined || key === '') throw new Error('--key (or SLUICE_KEY) is needed with --url');
    return work(overHttp(url, key));
  }
  const settings = settingsFor(remote, env);
  if (settings.mongodbUri === undefined) {
    const held = await holdControl(controlPath(settings.dataDir), 'operator');
    if (held !== undefined) {
      const { url: own, key } = JSON.parse(held.said) as Operator;
      try {
        return await work(overHttp(own, key, true));
      } finally {
        held.leave();
      }
    }
    if (!existsSync(settings.dataDir))
      throw new Error(`${noFolder(settings)}: name a gateway by --url and --key, or --data-dir`);
  }
  return withStopped(settings, work);
}

/** A gateway of this process's own, on a port that no other process is told. */
async function withStopped<T>(settings: Settings, work: (gateway: Gateway) => Promise<T>): Promise<T> {
  const own = {
    ...settings,
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    workers: 1,
    configFile: undefined,
    metricsPort: undefined,
    drainMs: 0,
  };
  const [{ startApp }, { createLog }] = await Promise.all([
    import('../app.ts'),
    import('../telemetry/log.ts'),
  ]);
  const app = await startApp(own, createLog('error', process.stderr as never));
  try {
    const { key } = app.lendOperatorKey();
    return await work(overHttp(`http://127.0.0.1:${app.address.port}`, key));
  } finally {
    await app.stop();
  }
}

/** The settings of the environment, with another data folder where one is given. */
export function settingsFor({ dataDir }: Pick<Remote, 'dataDir'>, env: Environment): Settings {
  const settings = readSettings(env);
  if (dataDir === undefined) return settings;
  if (!existsSync(dataDir)) throw new Error(`--data-dir: there is no folder ${dataDir}`);
  return { ...settings, dataDir, mongodbUri: undefined, redisUrl: undefined };
}

/** The same for a command on the stores themselves. @throws Error when there is no folder: none is made */
export function storeSettings({ dataDir }: Pick<Remote, 'dataDir'>, env: Environment): Settings {
  const settings = settingsFor({ dataDir }, env);
  if (settings.mongodbUri === undefined && !existsSync(settings.dataDir))
    throw new Error(`${noFolder(settings)}: name one by --data-dir, or set MONGODB_URI`);
  return settings;
}

function noFolder({ dataDir }: Settings): string {
  return `there is no data folder ${dataDir}`;
}

function overHttp(url: string, key: string, trusted = false): Gateway {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error('--url must be an address such as http://127.0.0.1:8787');
  const base = url.replace(/\/+$/, '').replace(/\/v[12]$/, '');
  const away = (error: unknown): never => {
    throw new Error(`${base} does not answer${codeOf(error)}`, { cause: error });
  };
  return {
    async fetch(path, to, options = { end: true }) {
      const answer = await byteCall({ url: `${base}${path}`, trusted, timeoutMs: TIMEOUT_MS }).catch(away);
      if (answer.statusCode !== 200) throw new Error(`GET ${path}: ${answer.statusCode}`);
      await pipeline(answer, to, options);
    },
    async call(verb, path, body) {
      const answer = await jsonCall({
        verb,
        url: `${base}/v1${path}`,
        headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        trusted,
        timeoutMs: TIMEOUT_MS,
      }).catch(away);
      const json = (answer.json ?? {}) as JsonObject;
      if (answer.status >= 200 && answer.status < 300) return json;
      const { message } = (json.error ?? {}) as { readonly message?: string };
      throw new ApiError(
        answer.status,
        `${verb} ${path.split('?')[0]}: ${answer.status} ${message ?? ''}`.trim(),
        (json.errors ?? []) as unknown as ApiError['violations'],
      );
    },
  };
}

function codeOf(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: { readonly code?: string } };
  return cause?.code === undefined ? '' : ` (${cause.code})`;
}

/** All elements of a list, page by page. */
export async function allOf(gateway: Gateway, path: string): Promise<JsonObject[]> {
  const all: JsonObject[] = [];
  for (let page = 0; ; page++) {
    const mark = path.includes('?') ? '&' : '?';
    const { data = [] } = await gateway.call('GET', `${path}${mark}page_size=100&current_page=${page}`);
    const list = data as readonly JsonObject[];
    all.push(...list);
    if (list.length < 100) return all;
  }
}
