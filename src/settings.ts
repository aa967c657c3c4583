// The environment -> one frozen, validated object. A bad variable is named and stops the start.
import { readFileSync } from 'node:fs';
import { parseProxies } from './lib/client-address.ts';
import type { Range } from './lib/egress/address-rules.ts';
import { isIssuerUrl } from './lib/issuer-url.ts';
import { didYouMean } from './lib/nearest.ts';
import { readS3Place, type S3Place } from './lib/s3-place.ts';
import { readStdioCommands, type StdioCommands } from './lib/stdio-commands.ts';
import { type EnvironmentProviders, providersFromEnvironment } from './providers/from-environment.ts';
import { managerEnvironment } from './secrets/manager-environment.ts';
import { type ReadVariable, readTelemetrySettings, type TelemetrySettings } from './telemetry/settings.ts';

/** All settings, validated. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Documents and request log in MongoDB; undefined: embedded. */
  readonly mongodbUri: string | undefined;
  /** What instances share, and tell each other at once; undefined: each has its own. */
  readonly redisUrl: string | undefined;
  /** Declared state: a file, or a folder of files, that is applied at the start and on change. */
  readonly configFile: string | undefined;
  /** Where declared state's variables have their values; empty without it. It holds secrets. */
  readonly configEnvironment: Environment;
  /** Providers that the environment's variables make; it holds secrets. */
  readonly environmentProviders: EnvironmentProviders;
  readonly adminApiKey: string | undefined;
  readonly apiKey: string | undefined;
  /** 32 bytes; undefined: made in the data folder. */
  readonly encryptionKey: Uint8Array | undefined;
  /** The next one, for `sluice keys rotate-encryption --new-master env`. */
  readonly newEncryptionKey: Uint8Array | undefined;
  readonly egressAllow: string;
  readonly headerPrefixes: readonly string[];
  /** Bytes. */
  readonly bodyLimit: number;
  /** What becomes of paths that are passed through: `deny` passes none, `allow` also what evades guardrails. */
  readonly rawPaths: 'govern' | 'allow' | 'deny';
  /** Bytes of request bodies that may be read at once: of the process, and of one key. */
  readonly readingBytes: number;
  readonly keyReadingBytes: number;
  /** A body that brings less than 256 bytes a second over this time is given up, in milliseconds. */
  readonly bodyStallMs: number;
  readonly maxConnections: number;
  /** New connections of one address; undefined: 100, and any number from the machine itself. */
  readonly connectionsPerSecond: number | undefined;
  /** Calls without a valid key of one address; further ones are refused from their headers alone. */
  readonly failedCallsPerSecond: number;
  /** Connections at once of one address; `maxConnections` bounds those of all. */
  readonly maxConnectionsPerAddress: number;
  readonly logBodies: 'full' | 'metadata' | 'none';
  /** Days that entries of the log, their bodies and the roll-ups are kept. */
  readonly logDays: number;
  readonly bodyDays: number;
  readonly metricDays: number;
  /** Days that responses are kept, for callers that go on from them. */
  readonly responseDays: number;
  /** Bytes of one file that the gateway keeps, and of all files of a workspace. */
  readonly fileBytes: number;
  readonly workspaceFileBytes: number;
  /** Rows of one batch that run at once. */
  readonly batchRows: number;
  /** Days that the gateway keeps a file at the most; undefined: until it is deleted. */
  readonly fileDays: number | undefined;
  /** The object store that files and exports are kept in; undefined: the data folder, or MongoDB. It holds a secret. */
  readonly s3: S3Place | undefined;
  readonly corsOrigins: readonly string[];
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly Range[];
  /** Where people reach the gateway, without a slash at the end; undefined: where it listens. */
  readonly publicUrl: string | undefined;
  /** The identity provider that people sign in by; undefined: none. It holds a secret. */
  readonly oidc:
    | {
        readonly issuer: string;
        readonly clientId: string;
        readonly clientSecret: string;
        readonly scopes: string;
        readonly groupsClaim: string;
        readonly onFirstSight: boolean;
        /** What signing out ends. */
        readonly signOut: 'provider' | 'gateway';
      }
    | undefined;
  /** The authorization server for MCP clients: lives in milliseconds, and registrations of one address. */
  readonly oauth: {
    /** Of an access token. */
    readonly accessMs: number;
    /** Of a grant after its tokens were last renewed. */
    readonly grantMs: number;
    /** Of a registration for new sign-ins. */
    readonly clientMs: number;
    /** 0: clients do not register themselves. */
    readonly registrationsPerSecond: number;
  };
  /** Longest wait for a connection to an MCP server, and longest silence of one that answers, in milliseconds. */
  readonly mcpConnectMs: number;
  readonly mcpSilenceMs: number;
  /** Whether `/mcp` offers tools to search and call tools by, in the place of all tools. */
  readonly mcpToolSearch: boolean;
  /** Operations of the gateway that are tools at /admin/mcp, by their names in the OpenAPI document. */
  readonly mcpOperations: readonly string[];
  /** Programs that MCP servers may be, by name, and how many of them run at once. They may hold secrets. */
  readonly mcpStdio: StdioCommands;
  readonly mcpStdioProcesses: number;
  /** The mail server's address, with its password; undefined: no mail is sent. */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  /** Processes that share the port. */
  readonly workers: number;
  /** Calls at once; undefined: no bound. */
  readonly maxInFlight: number | undefined;
  /** Bytes of cached answers: per process, or per organisation in Redis; vectors may take another quarter of it. */
  readonly cacheBytes: number;
  /** Exact names of the variables that secret references may read. */
  readonly secretEnvAllow: readonly string[];
  /** Folders whose files secret references may read. */
  readonly secretFileAllow: readonly string[];
  /** Secret managers, and providers, that may be asked with the gateway's own identity. */
  readonly secretOwnIdentity: readonly (typeof OWN_IDENTITIES)[number][];
  /** Of the environment what secret managers see; it holds secrets. */
  readonly secretEnvironment: Environment;
  /** How long a secret's value is kept, in milliseconds. */
  readonly secretTtlMs: number;
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
  /** PEM text of extra authorities. */
  readonly extraCa: string | undefined;
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** How long open calls may go on after SIGTERM, in milliseconds. */
  readonly drainMs: number;
  /** How long what a call holds of its limits outlives a killed process, in milliseconds. */
  readonly holdMs: number;
  readonly logLevel: string;
  /** Models that are labels of metrics although the catalogue does not know them. */
  /** Of realtime sessions: without a frame, and altogether; milliseconds. */
  readonly realtimeIdleMs: number;
  readonly realtimeMaxMs: number;
  readonly metricsModels: readonly string[];
  /** The bearer token that GET /metrics asks for; undefined: anybody reads it, without what calls cost. */
  readonly metricsToken: string | undefined;
  /** The port of their own that metrics are served on; undefined: the gateway's. */
  readonly metricsPort: number | undefined;
  /** Undefined: nothing is exported over OTLP. It may hold credentials. */
  readonly telemetry: TelemetrySettings | undefined;
}

/** Secret managers, and providers, that know identities of machines. */
const OWN_IDENTITIES = ['aws_sm', 'azure_kv', 'hashicorp_vault', 'bedrock', 'azure', 'vertex'] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that cannot be used. The message names the variable and never holds its value when that is a secret. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Reads all settings. @throws SettingsError naming every bad variable. */
export function readSettings(env: Environment): Settings {
  const faults: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T, fallback: T): T => {
    const text = env[name];
    if (text === undefined || text === '') return fallback;
    try {
      return parse(text);
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : 'cannot be read'}`);
      return fallback;
    }
  };
  const optional = <T>(name: string, parse: (text: string) => T): T | undefined =>
    read<T | undefined>(name, parse, undefined);

  const settings: Settings = {
    host: read('HOST', nonEmpty, '127.0.0.1'),
    port: read('PORT', integer(0, 65535), 8787),
    dataDir: read('GATEWAY_DATA_DIR', nonEmpty, '.data'),
    mongodbUri: optional('MONGODB_URI', address(/^mongodb(\+srv)?:\/\/[^\s/]/, 'mongodb://host')),
    redisUrl: optional(
      'REDIS_URL',
      address(/^rediss?:\/\/[^\s,]+(,rediss?:\/\/[^\s,]+)*$/, 'redis://host:6379'),
    ),
    configFile: optional('GATEWAY_CONFIG_FILE', nonEmpty),
    configEnvironment: {},
    environmentProviders: NO_PROVIDERS,
    adminApiKey: optional('GATEWAY_ADMIN_API_KEY', apiKey),
    apiKey: optional('GATEWAY_API_KEY', apiKey),
    encryptionKey: optional('GATEWAY_ENCRYPTION_KEY', encryptionKey),
    newEncryptionKey: optional('GATEWAY_NEW_ENCRYPTION_KEY', encryptionKey),
    egressAllow: read('GATEWAY_EGRESS_ALLOW', (text) => text, ''),
    headerPrefixes: read('GATEWAY_HEADER_PREFIXES', prefixes, ['x-gateway-']),
    bodyLimit: read('GATEWAY_BODY_LIMIT', bytes, 25 * 1024 * 1024),
    rawPaths: read('GATEWAY_RAW_PATHS', oneOf('govern', 'allow', 'deny'), 'govern'),
    ...connectionSettings(read),
    logBodies: read('GATEWAY_LOG_BODIES', oneOf('full', 'metadata', 'none'), 'full'),
    logDays: read('GATEWAY_LOG_RETENTION_DAYS', integer(1, 3650), 90),
    bodyDays: read('GATEWAY_BODY_RETENTION_DAYS', integer(1, 3650), 90),
    metricDays: read('GATEWAY_METRICS_RETENTION_DAYS', integer(1, 3650), 365),
    ...fileSettings(read),
    corsOrigins: read('GATEWAY_CORS_ORIGINS', origins, []),
    trustedProxies: read('GATEWAY_TRUSTED_PROXIES', parseProxies, []),
    publicUrl: optional('GATEWAY_PUBLIC_URL', baseUrl),
    oidc: readOidc(env, read, faults),
    oauth: oauthSettings(read),
    ...readMcp(read, env),
    smtpUrl: optional('GATEWAY_SMTP_URL', address(/^smtps?:\/\/[^\s/]+$/, 'smtp://host:587')),
    mailFrom: read('GATEWAY_MAIL_FROM', oneLine, 'sluice@localhost'),
    workers: read('GATEWAY_WORKERS', integer(1, 256), 1),
    maxInFlight: optional('GATEWAY_MAX_IN_FLIGHT', integer(1, 1_000_000)),
    cacheBytes: read('GATEWAY_CACHE_BYTES', bytes, 64 * 1024 * 1024),
    ...secretSettings(read),
    secretEnvironment: {},
    httpsProxy: optional('HTTPS_PROXY', proxyUrl) ?? optional('https_proxy', proxyUrl),
    noProxy: optional('NO_PROXY', (text) => text) ?? optional('no_proxy', (text) => text),
    extraCa: optional('GATEWAY_EXTRA_CA', pemFile('CERTIFICATE')),
    tls: undefined,
    ...readDurations(read),
    logLevel: read('LOG_LEVEL', oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), 'info'),
    metricsModels: read('GATEWAY_METRICS_MODELS', modelNames, []),
    metricsToken: optional('GATEWAY_METRICS_TOKEN', apiKey),
    metricsPort: optional('GATEWAY_METRICS_PORT', integer(0, 65535)),
    telemetry: readTelemetrySettings(read),
  };
  const fromEnvironment = read('GATEWAY_PROVIDERS_FROM_ENV', flag, isEmbeddedOnLoopback(settings));
  const tls = readTls(read);
  faults.push(...conflictsOf(settings, env));
  if (faults.length > 0) throw new SettingsError(faults.join('\n'));
  return Object.freeze({
    ...settings,
    configEnvironment: settings.configFile === undefined ? {} : env,
    environmentProviders: fromEnvironment ? providersFromEnvironment(env) : NO_PROVIDERS,
    secretEnvironment: managerEnvironment(env, settings.secretEnvAllow),
    tls,
  });
}

const NO_PROVIDERS: EnvironmentProviders = Object.freeze({ providers: [], faults: [] });
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|localhost)$/;

/** Whether the gateway is one person's: on this machine alone, with stores of its own. */
export function isEmbeddedOnLoopback({
  host,
  mongodbUri,
  redisUrl,
}: Pick<Settings, 'host' | 'mongodbUri' | 'redisUrl'>): boolean {
  return mongodbUri === undefined && redisUrl === undefined && LOOPBACK.test(host);
}

type Read = <T>(name: string, parse: (text: string) => T, fallback: T) => T;

const DAY_MS = 86_400_000;

/** What bodies and connections may take. */
function connectionSettings(read: Read) {
  return {
    readingBytes: read('GATEWAY_READING_BYTES', bytes, 256 * 1024 * 1024),
    keyReadingBytes: read('GATEWAY_KEY_READING_BYTES', bytes, 128 * 1024 * 1024),
    bodyStallMs: read('GATEWAY_BODY_STALL_SECONDS', integer(1, 3600), 30) * 1000,
    maxConnections: read('GATEWAY_MAX_CONNECTIONS', integer(1, 1_000_000), 10_000),
    connectionsPerSecond: read<number | undefined>(
      'GATEWAY_CONNECTIONS_PER_SECOND',
      integer(1, 1_000_000),
      undefined,
    ),
    failedCallsPerSecond: read('GATEWAY_FAILED_CALLS_PER_SECOND', integer(1, 1_000_000), 100),
    maxConnectionsPerAddress: read('GATEWAY_MAX_CONNECTIONS_PER_ADDRESS', integer(1, 1_000_000), 4096),
  };
}

/** What secret references may read. */
function secretSettings(read: Read) {
  return {
    secretEnvAllow: read(
      'GATEWAY_SECRET_ENV_ALLOW',
      listOf(/^[A-Za-z_][A-Za-z0-9_]*$/, 'names of variables'),
      [],
    ),
    secretFileAllow: read('GATEWAY_SECRET_FILE_ALLOW', listOf(/^\/./, 'absolute folders'), []),
    secretOwnIdentity: read('GATEWAY_SECRET_OWN_IDENTITY', someOf(...OWN_IDENTITIES), []),
    secretTtlMs: read('GATEWAY_SECRET_TTL', integer(1, 86_400), 300) * 1000,
  };
}

/** The authorization server for MCP clients. */
function oauthSettings(read: Read) {
  return {
    accessMs: read('GATEWAY_OAUTH_ACCESS_SECONDS', integer(1, 86_400), 3600) * 1000,
    grantMs: read('GATEWAY_OAUTH_GRANT_DAYS', integer(1, 365), 30) * DAY_MS,
    clientMs: read('GATEWAY_OAUTH_CLIENT_DAYS', integer(1, 365), 30) * DAY_MS,
    registrationsPerSecond: read('GATEWAY_OAUTH_REGISTRATIONS_PER_SECOND', integer(0, 1000), 10),
  };
}

/** Responses and files that the gateway keeps, and batches that it runs. */
function fileSettings(read: Read) {
  return {
    responseDays: read('GATEWAY_RESPONSES_RETENTION_DAYS', integer(1, 3650), 30),
    fileBytes: read('GATEWAY_FILE_LIMIT', bytes, 512 * 1024 * 1024),
    workspaceFileBytes: read('GATEWAY_FILES_QUOTA', bytes, 10 * 1024 * 1024 * 1024),
    batchRows: read('GATEWAY_BATCH_ROWS_AT_ONCE', integer(1, 1000), 16),
    fileDays: read<number | undefined>('GATEWAY_FILES_RETENTION_DAYS', integer(1, 3650), undefined),
    s3: read<S3Place | undefined>('GATEWAY_FILES_S3', readS3Place, undefined),
  };
}

/** What is wrong between settings that are well by themselves. */
function conflictsOf(settings: Settings, env: Environment): string[] {
  const faults: string[] = [];
  if (set(env, 'TLS_CERT_PATH') !== set(env, 'TLS_KEY_PATH')) {
    faults.push('TLS_CERT_PATH and TLS_KEY_PATH: both are needed, or neither');
  }
  if (settings.workers > 1 && (settings.mongodbUri === undefined || settings.redisUrl === undefined)) {
    faults.push('GATEWAY_WORKERS: more than one process needs MONGODB_URI and REDIS_URL');
  }
  if (settings.mongodbUri !== undefined && settings.encryptionKey === undefined) {
    faults.push('GATEWAY_ENCRYPTION_KEY: is required with MONGODB_URI, the same for all instances');
  }
  if (
    settings.metricsPort !== undefined &&
    settings.metricsPort !== 0 &&
    settings.metricsPort === settings.port
  ) {
    faults.push('GATEWAY_METRICS_PORT: must differ from PORT');
  }
  if (settings.adminApiKey !== undefined && settings.adminApiKey === settings.apiKey) {
    faults.push('GATEWAY_API_KEY: must differ from GATEWAY_ADMIN_API_KEY');
  }
  return faults;
}

/** Variables that the kubelet sets for a service that is named gateway. */
const OF_SERVICES = /^GATEWAY_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d+_(?:TCP|UDP).*)?)(?:_|$)/;

/** One line for each variable of the gateway's prefix that is none of its settings, with the nearest one. */
export function strangeVariables(env: Environment): string[] {
  const known = new Set<string>();
  const noting = new Proxy<Record<string, string | undefined>>(
    {},
    {
      get(_, name) {
        if (typeof name === 'string') known.add(name);
        return undefined;
      },
    },
  );
  readSettings(noting);
  return Object.keys(env)
    .filter((name) => name.startsWith('GATEWAY_') && !known.has(name) && !OF_SERVICES.test(name))
    .sort()
    .map((name) => `${name}: is no setting${didYouMean(name, known)}`);
}

function readTls(read: Read): Settings['tls'] {
  const cert = read('TLS_CERT_PATH', pemFile('CERTIFICATE'), '');
  const key = read('TLS_KEY_PATH', pemFile('PRIVATE KEY'), '');
  return cert !== '' && key !== '' ? { cert, key } : undefined;
}

function readOidc(env: Environment, read: Read, faults: string[]): Settings['oidc'] {
  const needed = ['GATEWAY_OIDC_ISSUER', 'GATEWAY_OIDC_CLIENT_ID', 'GATEWAY_OIDC_CLIENT_SECRET'];
  const missing = needed.filter((name) => !set(env, name));
  if (missing.length > 0 && missing.length < needed.length)
    faults.push(`${missing.join(', ')}: needed with the other settings of the identity provider`);
  const settings = {
    issuer: read('GATEWAY_OIDC_ISSUER', issuerUrl, ''),
    clientId: read('GATEWAY_OIDC_CLIENT_ID', words, ''),
    clientSecret: read('GATEWAY_OIDC_CLIENT_SECRET', words, ''),
    scopes: read('GATEWAY_OIDC_SCOPES', words, 'openid profile email'),
    groupsClaim: read('GATEWAY_OIDC_GROUPS_CLAIM', words, 'groups'),
    onFirstSight: read('GATEWAY_OIDC_ACCOUNTS', oneOf('invited', 'first_sight'), 'invited') === 'first_sight',
    signOut: read('GATEWAY_OIDC_SIGN_OUT', oneOf('provider', 'gateway'), 'provider'),
  };
  return missing.length > 0 ? undefined : settings;
}

function issuerUrl(text: string): string {
  if (!isIssuerUrl(text)) throw new Error('must be the https:// address of an issuer');
  return text;
}

function set(env: Environment, name: string): boolean {
  return env[name] !== undefined && env[name] !== '';
}

function nonEmpty(text: string): string {
  if (text.trim() === '') throw new Error('must not be blank');
  return text;
}

/** An address by its form; its text may hold a password and is never repeated. */
function address(form: RegExp, example: string): (text: string) => string {
  return (text) => {
    if (!form.test(text)) throw new Error(`must be an address such as ${example}`);
    return text;
  };
}

function integer(low: number, high: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,10}$/.test(text) || Number(text) < low || Number(text) > high) {
      throw new Error(`must be a whole number from ${low} to ${high}`);
    }
    return Number(text);
  };
}

function readMcp(
  read: ReadVariable,
  env: Environment,
): Pick<
  Settings,
  'mcpOperations' | 'mcpConnectMs' | 'mcpSilenceMs' | 'mcpToolSearch' | 'mcpStdio' | 'mcpStdioProcesses'
> {
  return {
    mcpConnectMs: read('GATEWAY_MCP_CONNECT_SECONDS', integer(1, 300), 10) * 1000,
    mcpSilenceMs: read('GATEWAY_MCP_SILENCE_SECONDS', integer(1, 3600), 30) * 1000,
    mcpToolSearch: read('GATEWAY_MCP_TOOL_SEARCH', flag, false),
    mcpOperations: read(
      'GATEWAY_MCP_OPERATIONS',
      listOf(/^[A-Z][A-Za-z0-9]{0,99}$/, 'names of operations'),
      [],
    ),
    mcpStdio: read<StdioCommands>('GATEWAY_MCP_STDIO', (text) => readStdioCommands(text, env), new Map()),
    mcpStdioProcesses: read('GATEWAY_MCP_STDIO_PROCESSES', integer(1, 10_000), 64),
  };
}

function flag(text: string): boolean {
  if (text !== '0' && text !== '1') throw new Error('must be 0 or 1');
  return text === '1';
}

function readDurations(
  read: ReadVariable,
): Pick<Settings, 'drainMs' | 'holdMs' | 'realtimeIdleMs' | 'realtimeMaxMs'> {
  const seconds = integer(1, 86_400);
  return {
    drainMs: read('GATEWAY_DRAIN_SECONDS', integer(0, 3600), 30) * 1000,
    holdMs: read('GATEWAY_HOLD_SECONDS', integer(1, 600), 60) * 1000,
    realtimeIdleMs: read('GATEWAY_REALTIME_IDLE_SECONDS', seconds, 300) * 1000,
    realtimeMaxMs: read('GATEWAY_REALTIME_MAX_SECONDS', seconds, 3600) * 1000,
  };
}

function oneOf<const T extends string>(...words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return found;
  };
}

function someOf<const T extends string>(...words: readonly T[]): (text: string) => T[] {
  return (text) => text.split(',').map((item) => oneOf(...words)(item.trim()));
}

function listOf(form: RegExp, what: string): (text: string) => string[] {
  return (text) => {
    const items = text.split(',').map((item) => item.trim());
    if (items.some((item) => !form.test(item))) throw new Error(`must be ${what} with commas between`);
    return items;
  };
}

/** Labels of metrics: bounded in number and length. */
function modelNames(text: string): string[] {
  const names = listOf(/^[\x21-\x7e]{1,128}$/, 'names of models')(text);
  if (names.length > 500) throw new Error('must be 500 names at the most');
  return names;
}

function bytes(text: string): number {
  const match = /^(\d{1,12})\s*(b|kb|kib|mb|mib|gb|gib)?$/i.exec(text);
  if (!match) throw new Error('must be a number of bytes, or one with KiB, MiB or GiB');
  const unit = (match[2] ?? 'b').toLowerCase()[0]!;
  const size = Number(match[1]) * 1024 ** 'bkmg'.indexOf(unit);
  if (size < 1024 || size > 2 ** 31) throw new Error('must be between 1 KiB and 2 GiB');
  return size;
}

function apiKey(text: string): string {
  if (!/^[\x21-\x7e]{16,512}$/.test(text))
    throw new Error('must be 16 to 512 printable characters without spaces');
  return text;
}

function encryptionKey(text: string): Uint8Array {
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32 || !/^[A-Za-z0-9+/_-]+=*$/.test(text)) throw new Error('must be 32 bytes in base64');
  return key;
}

function prefixes(text: string): string[] {
  const list = text.split(',').map((item) => item.trim().toLowerCase());
  for (const prefix of list) {
    if (!/^x-[a-z0-9-]{1,48}-$/.test(prefix))
      throw new Error(`"${prefix}" must begin with x- and end with a hyphen`);
  }
  if (new Set(list).size !== list.length) throw new Error('must not name a prefix twice');
  return list;
}

function origins(text: string): string[] {
  return text.split(',').map((item) => {
    const origin = item.trim();
    if (origin !== '*' && (!URL.canParse(origin) || new URL(origin).origin !== origin)) {
      throw new Error(`"${origin}" must be an origin such as https://app.example.com`);
    }
    return origin;
  });
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Error('must be an address such as https://gateway.example.com');
  return text.replace(/\/+$/, '');
}

function oneLine(text: string): string {
  if (!/^[^\r\n]{3,320}$/.test(text)) throw new Error('must be an address such as gateway@example.com');
  return text;
}

function words(text: string): string {
  if (!/^\P{Cc}{1,4000}$/u.test(text)) throw new Error('must be one line of 1 to 4,000 characters');
  return text;
}

function proxyUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Error('must be an http:// or https:// address');
  return text;
}

function pemFile(kind: string): (path: string) => string {
  return (path) => {
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch {
      throw new Error('the file cannot be read');
    }
    if (!text.includes('-----BEGIN') || !text.includes(kind))
      throw new Error(`the file holds no ${kind} in PEM form`);
    return text;
  };
}
