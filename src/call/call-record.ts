// What the stages of a call note for its entry in the request log.
import type { AttemptRecord, OutcomeRecord, RequestRecord, SpanRecord, UsageRecord } from './record.ts';

/** An attempt whose provider did not tell its usage: its request and its answer, for an estimate. */
export interface Unreported {
  readonly attemptId: string;
  readonly request: object;
  /** Undefined: it broke off before any of the answer arrived. */
  readonly answered: string | undefined;
  /** What its provider counted before it broke off: the prompt. */
  readonly counted?: UsageRecord;
}

/** What traces tell of a tool call of the Model Context Protocol. */
export interface McpCallRecord {
  /** "tools/call". */
  readonly method: string;
  readonly tool: string;
  readonly requestId: string | number;
  /** As the client named it; undefined: it named none. */
  readonly protocolVersion: string | undefined;
  /** Of clients that have sessions. */
  readonly sessionId: string | undefined;
  /** `tool_error` for a result that is an error, else the code of the protocol's error. */
  errorType: string | undefined;
}

/** What the stages note for the request's log entry. */
export interface CallRecord {
  provider: string;
  model: string;
  responseModel: string;
  streamed: boolean;
  /** The HTTP status to note when it is not the usual one, e.g. a pass-through answer's. */
  status: number | undefined;
  outcome: OutcomeRecord | undefined;
  timeToFirstTokenMs: number | undefined;
  usage: UsageRecord | undefined;
  usageEstimated: boolean;
  metadata: Readonly<Record<string, string>>;
  readonly attempts: AttemptRecord[];
  readonly unreported: Unreported[];
  /** Path of the target that was called last, e.g. "config.targets[1]"; empty while there is none. */
  targetPath: string;
  /** Calls of that target before the last one; -1 when the target was given up. */
  retries: number;
  /** What the cache did: HIT, SEMANTIC HIT, MISS, SEMANTIC MISS, REFRESH or DISABLED. */
  cacheStatus: string;
  /** Usage of the answer from the cache, which no provider charged. */
  saved: UsageRecord | undefined;
  /** Slugs of the saved config and of the stored provider. */
  config: string | undefined;
  virtualKey: string | undefined;
  /** The strategy of the config's root; undefined when it is one target. */
  mode: RequestRecord['mode'];
  /** Another target failed before the one that answered. */
  rescued: boolean;
  /** The saved prompt's slug, and its version. */
  prompt: string | undefined;
  promptVersion: number | undefined;
  /** Members of the request that the last target's wire could not carry, by their paths. */
  dropped: readonly string[] | undefined;
  /** Guardrails and cache look-ups; undefined while there is none. */
  spans: SpanRecord[] | undefined;
  /** For traces alone. */
  mcp: McpCallRecord | undefined;
}

/** The record of a call that has just arrived. */
export function newCallRecord(): CallRecord {
  return {
    provider: '',
    model: '',
    responseModel: '',
    streamed: false,
    status: undefined,
    outcome: undefined,
    timeToFirstTokenMs: undefined,
    usage: undefined,
    usageEstimated: false,
    metadata: {},
    attempts: [],
    unreported: [],
    targetPath: '',
    retries: 0,
    cacheStatus: 'DISABLED',
    saved: undefined,
    config: undefined,
    virtualKey: undefined,
    mode: undefined,
    rescued: false,
    prompt: undefined,
    promptVersion: undefined,
    dropped: undefined,
    spans: undefined,
    mcp: undefined,
  };
}
