// Each environment variable that the gateway reads, as the operating guide shows it. src/settings.ts parses them; a test
// holds the two together.

/** Variables that belong together: one row of the guide's table. */
export interface SettingRow {
  readonly names: readonly string[];
  /** In Markdown, in the order of the names. */
  readonly standard: string;
  /** In Markdown. */
  readonly meaning: string;
}

const NONE = '(none)';

/** @param names with commas between */
function row(names: string, standard: string, meaning: string): SettingRow {
  return { names: names.split(', '), standard, meaning };
}

export const SETTINGS: readonly SettingRow[] = [
  row('HOST, PORT', '127.0.0.1, 8787', 'The address and the port of the one listener.'),
  row(
    'MONGODB_URI',
    '(none: embedded)',
    'Documents and the request log in MongoDB. It must be a replica set; one node suffices.',
  ),
  row(
    'REDIS_URL',
    NONE,
    'Redis for what instances share: limits and budgets, the cache, circuit breakers, change notices. A cluster is a ' +
      'comma-separated list. Use one Redis per deployment. Instances of different versions must not share it: stop ' +
      'the old ones first.',
  ),
  row(
    'GATEWAY_DATA_DIR',
    '`.data`',
    'The folder of the embedded stores, of the generated encryption key (mode 0600) and, with any store, of the journal of ' +
      'calls in flight. Use a volume that outlives the process. Instances may share it when they use MongoDB and Redis.',
  ),
  row(
    'GATEWAY_CONFIG_FILE',
    NONE,
    'A file of declared state, or a folder of such files: applied at the start, where a faulty one ends it, and on ' +
      'change. See [declared state](declared-state.md).',
  ),
  row(
    'GATEWAY_PROVIDERS_FROM_ENV',
    '1 on an embedded start that listens on loopback, else 0',
    'Whether the providers’ own variables, such as `OPENAI_API_KEY`, make [providers](providers.md#from-the-environment).',
  ),
  row(
    'GATEWAY_ADMIN_API_KEY',
    'made at first start, printed until it was used once',
    'The first admin key. A new value replaces the old one.',
  ),
  row(
    'GATEWAY_API_KEY',
    'made at first start, printed until it was used once',
    'The first workspace key. A new value replaces the old one.',
  ),
  row(
    'GATEWAY_ENCRYPTION_KEY',
    'made in the data folder; required with MongoDB',
    'The master key: 32 bytes in base64, the same for all instances. It wraps the keys that encrypt the store. A start with ' +
      'another key is refused.',
  ),
  row('GATEWAY_NEW_ENCRYPTION_KEY', NONE, 'Read by `keys rotate-encryption --new-master env` only.'),
  row(
    'GATEWAY_EGRESS_ALLOW',
    NONE,
    'Comma-separated hosts, `host:port` or CIDR blocks that may be called although they are private.',
  ),
  row(
    'GATEWAY_HEADER_PREFIXES',
    '`x-gateway-`',
    'Comma-separated header prefixes. The first is canonical, the others are aliases. Answers repeat the gateway’s headers ' +
      'under the prefix of the caller.',
  ),
  row(
    'GATEWAY_BODY_LIMIT',
    '25 MiB',
    'The largest JSON body: bytes, or a number with KiB, MiB or GiB. Pass-through streams without a limit.',
  ),
  row(
    'GATEWAY_RAW_PATHS',
    '`govern`',
    '[Pass-through](pass-through.md) of what cannot be read: `govern` refuses what would evade a mandatory guardrail or a ' +
      'restriction of models, `allow` lets it through, `deny` passes nothing through.',
  ),
  row(
    'GATEWAY_READING_BYTES, GATEWAY_KEY_READING_BYTES',
    '256 MiB, 128 MiB',
    'Bytes of request bodies that are read at once: of the process, and of one key.',
  ),
  row(
    'GATEWAY_FAILED_CALLS_PER_SECOND',
    '100',
    'Calls without a valid key of one client address (IPv6: of its /64), ten seconds of them at once. Further ones are ' +
      '429; calls with a valid key are served.',
  ),
  row(
    'GATEWAY_CONNECTIONS_PER_SECOND',
    '100; no bound for the machine itself',
    'New connections of one address, ten seconds of them at once, and ten times as many from one that has shown a valid ' +
      'key. Further ones are closed; trusted proxies are exempt. Pages that anybody may read have the same rate of their own: further ones are 429.',
  ),
  row(
    'GATEWAY_MAX_CONNECTIONS, GATEWAY_MAX_CONNECTIONS_PER_ADDRESS',
    '10000, 4096',
    'Connections at once: of the process, and of one address. Raise the second one behind a proxy that opens more.',
  ),
  row(
    'GATEWAY_BODY_STALL_SECONDS',
    '30',
    'A request body slower than 256 bytes a second over this time is refused with 408.',
  ),
  row(
    'GATEWAY_LOG_BODIES',
    '`full`',
    '`full` keeps requests and answers with each log entry, up to 1 MiB a message, with secret headers masked. `metadata` keeps ' +
      'entries only. `none` also leaves out the request’s metadata. A call with `x-gateway-debug: false` keeps no bodies, nor ' +
      'does a workspace with `settings.debug_log: 0`. Where no bodies are kept, a provider’s error is kept as its status, type ' +
      'and code.',
  ),
  row(
    'GATEWAY_LOG_RETENTION_DAYS',
    '90',
    'Days that log entries are kept. A workspace may keep its new entries for fewer days (`settings.log_retention_days`). Whole ' +
      'days are dropped, not rows.',
  ),
  row('GATEWAY_BODY_RETENTION_DAYS', '90', 'Days that bodies are kept.'),
  row('GATEWAY_METRICS_RETENTION_DAYS', '365', 'Days that the roll-ups of analytics are kept.'),
  row(
    'GATEWAY_RESPONSES_RETENTION_DAYS',
    '30',
    'Days that responses are kept, for callers that go on from them.',
  ),
  row(
    'GATEWAY_SECRET_ENV_ALLOW',
    NONE,
    'Comma-separated names of the variables that secret references (manager `env`) may read, for every organisation.',
  ),
  row(
    'GATEWAY_SECRET_FILE_ALLOW',
    NONE,
    'Absolute folders whose files secret references (manager `file`) may read. Links are resolved before a path is checked.',
  ),
  row(
    'GATEWAY_SECRET_OWN_IDENTITY',
    NONE,
    '`aws_sm`, `azure_kv`, `hashicorp_vault`: managers that secret references may log in to with the gateway’s own identity. ' +
      '`bedrock`: stored providers may call Bedrock and SageMaker with it; `azure`: Azure OpenAI and AI Foundry; `vertex`: Vertex AI.',
  ),
  row(
    'GATEWAY_SECRET_TTL',
    '300',
    'Seconds that a value of a secret manager is cached. After four fifths of them it is refreshed in the background.',
  ),
  row('GATEWAY_CORS_ORIGINS', NONE, 'Origins that browsers may call from; `*` for all.'),
  row(
    'GATEWAY_TRUSTED_PROXIES',
    NONE,
    'Comma-separated addresses and CIDR blocks of proxies whose `X-Forwarded-For` names the client in the audit log.',
  ),
  row(
    'GATEWAY_PUBLIC_URL',
    'where it listens',
    'The address that people reach the gateway at. Links of invitations and of export files begin with it.',
  ),
  row(
    'GATEWAY_OIDC_ISSUER, GATEWAY_OIDC_CLIENT_ID, GATEWAY_OIDC_CLIENT_SECRET',
    '(none)',
    'The identity provider that people sign in by at `/console/sign-in/oidc`: its issuer, and the gateway’s client there.',
  ),
  row(
    'GATEWAY_OIDC_SCOPES, GATEWAY_OIDC_GROUPS_CLAIM, GATEWAY_OIDC_ACCOUNTS',
    '`openid profile email`, `groups`, `invited`',
    'What is asked for; the claim of the groups; whether only invited people get an account (`invited`) or all (`first_sight`).',
  ),
  row(
    'GATEWAY_OIDC_SIGN_OUT',
    '`provider`',
    '`provider`: `Sign out` also ends the session of the identity provider, where it can; `gateway`: that of the console alone.',
  ),
  row(
    'GATEWAY_MCP_CONNECT_SECONDS, GATEWAY_MCP_SILENCE_SECONDS',
    '10, 30',
    'Longest wait for a connection to an MCP server, and longest silence of one that answers. Then the call ends with an error.',
  ),
  row(
    'GATEWAY_OAUTH_ACCESS_SECONDS, GATEWAY_OAUTH_GRANT_DAYS',
    '3600, 30',
    'How long an access token of an MCP client counts, and its grant when its tokens are not renewed.',
  ),
  row(
    'GATEWAY_OAUTH_CLIENT_DAYS, GATEWAY_OAUTH_REGISTRATIONS_PER_SECOND',
    '30, 10',
    'How long the registration of an MCP client counts for new sign-ins; registrations of one address in a second (0: none).',
  ),
  row(
    'GATEWAY_MCP_OPERATIONS',
    NONE,
    'Operations of the gateway that are MCP tools at `/admin/mcp`: names of the OpenAPI document with commas between, e.g. `ListLogs`.',
  ),
  row(
    'GATEWAY_MCP_TOOL_SEARCH',
    '`0`',
    '`1`: `/mcp` offers `search_tools` and `call_tool` in the place of all tools.',
  ),
  row(
    'GATEWAY_MCP_STDIO, GATEWAY_MCP_STDIO_PROCESSES',
    `${NONE}, 64`,
    'Programs that MCP servers may be: `{"<name>":{"command":"...","args":[...],"env":{...},"cwd":"..."}}`, as JSON or as the ' +
      'path of a file of JSON; and how many of them run at once. No other program is started.',
  ),
  row(
    'GATEWAY_FILE_LIMIT, GATEWAY_FILES_QUOTA, GATEWAY_FILES_RETENTION_DAYS',
    `512 MiB, 10 GiB, ${NONE}`,
    'Of files that the gateway keeps: bytes of one, bytes of all of a workspace (413 above either), and days that one is kept at the most.',
  ),
  row(
    'GATEWAY_FILES_S3',
    NONE,
    'An S3-compatible object store for files and exports, in the place of the data folder or of MongoDB: `https://ACCESS_KEY_ID:SECRET@host/bucket/prefix?region=us-east-1`.',
  ),
  row('GATEWAY_BATCH_ROWS_AT_ONCE', '16', 'Rows of one batch of the gateway that run at once.'),
  row(
    'GATEWAY_REALTIME_IDLE_SECONDS, GATEWAY_REALTIME_MAX_SECONDS',
    '300, 3600',
    'A realtime session ends after so long without a frame, and after so long in all.',
  ),
  row(
    'GATEWAY_SMTP_URL, GATEWAY_MAIL_FROM',
    '(none), `sluice@localhost`',
    'The mail server (`smtp://user:password@host:587` or `smtps://`), and the sender of invitations and alerts.',
  ),
  row('GATEWAY_MAX_IN_FLIGHT', NONE, 'Model calls at once in a process, shared between workspaces.'),
  row(
    'GATEWAY_CACHE_BYTES',
    '64 MiB',
    'Size of the response cache, keys included: of the process, or with `REDIS_URL` of each organisation. Vectors of the semantic ' +
      'cache may take another quarter of it.',
  ),
  row('GATEWAY_DRAIN_SECONDS', '30', 'Seconds that open calls may go on after SIGTERM.'),
  row(
    'GATEWAY_HOLD_SECONDS',
    '60',
    'Seconds that the lease of a killed process on limits and on places in flight lasts. Then it is settled as held.',
  ),
  row('HTTPS_PROXY, NO_PROXY', NONE, 'The proxy to the internet, and the hosts that are called without it.'),
  row('GATEWAY_EXTRA_CA', NONE, 'A PEM file of additional certificate authorities.'),
  row('TLS_CERT_PATH, TLS_KEY_PATH', NONE, 'Certificate and key for TLS on the same port.'),
  row(
    'GATEWAY_WORKERS',
    '1',
    'Processes that share the port. More than one needs `MONGODB_URI` and `REDIS_URL`.',
  ),
  row('LOG_LEVEL', '`info`', 'fatal, error, warn, info, debug (a line per call), trace or silent.'),
  row(
    'GATEWAY_METRICS_MODELS',
    NONE,
    'Comma-separated models that are metric labels in addition to the catalogue’s.',
  ),
  row(
    'GATEWAY_METRICS_TOKEN',
    '(none: `/metrics` shows no costs)',
    '16 to 512 printable characters: the bearer token of `/metrics`.',
  ),
  row(
    'GATEWAY_METRICS_PORT',
    '(none: the gateway’s)',
    'A separate port for metrics, over plain HTTP on `HOST`. `/metrics` of the gateway’s port is then 404.',
  ),
  row(
    'OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    '(none: telemetry is off)',
    'The collector, such as `http://127.0.0.1:4318`; the others are whole addresses of one signal.',
  ),
  row(
    'OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_TRACES_HEADERS, OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    NONE,
    'Comma-separated `name=value`: of both signals, of traces, of metrics.',
  ),
  row(
    'OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_COMPRESSION, OTEL_EXPORTER_OTLP_TIMEOUT',
    '`http/protobuf`, none, 10000',
    'Or `http/json` (gRPC is refused); or `gzip`; milliseconds.',
  ),
  row('OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES', '`sluice`, (none)', 'The attributes of the resource.'),
  row(
    'OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, OTEL_SDK_DISABLED',
    '`otlp`, `otlp`, false',
    '`none` turns one signal off, `true` both.',
  ),
  row(
    'OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG',
    '`parentbased_always_on`, 1',
    'The standard samplers; the argument is the ratio.',
  ),
  row(
    'OTEL_PROPAGATORS',
    '`tracecontext`',
    '`none`: providers are not told the trace. `baggage` is accepted and has no effect.',
  ),
  row(
    'OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE, OTEL_BSP_SCHEDULE_DELAY',
    '2048, 512, 5000',
    'Spans in the queue, spans of one export, milliseconds between exports.',
  ),
  row('OTEL_METRIC_EXPORT_INTERVAL', '60000', 'Milliseconds between exports of metrics.'),
  row('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', '`cumulative`', 'No other value is taken.'),
];
