// Tasks as the generations write them: those of 2025-11-25, and those of the extension of 2026-07-28, where the result is
// part of the task.
import { META, metaOf } from '../wire/eras.ts';
import { isObject, type JsonObject, type RequestId, type RpcRequest } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import { RELATED_TASK, TASKS } from './asked-tasks.ts';

const TERMINAL = new Set(['completed', 'failed', 'cancelled']);
const STATUSES = new Set(['working', 'input_required', ...TERMINAL]);
/** Between two looks at a task, in milliseconds. */
const USUAL_POLL_MS = 1000;
const LEAST_POLL_MS = 100;
const MOST_POLL_MS = 30_000;

export function isTask(value: unknown): value is JsonObject {
  return isObject(value) && typeof value.taskId === 'string' && STATUSES.has(String(value.status));
}

export function isOver({ status }: JsonObject): boolean {
  return TERMINAL.has(String(status));
}

/** A task of 2025-11-25 as the extension writes it, without what it has led to. */
export function modernTask(task: JsonObject): JsonObject {
  const { ttl, pollInterval, ...rest } = common(task);
  return {
    ...rest,
    ttlMs: ttl ?? null,
    ...(pollInterval === undefined ? {} : { pollIntervalMs: pollInterval }),
  };
}

/** A task of the extension as 2025-11-25 writes it. There a tool that fails has failed its task. */
export function legacyTask(task: JsonObject): JsonObject {
  const { status, result, ttlMs = null, pollIntervalMs } = task;
  const hasFailed = status === 'completed' && isObject(result) && result.isError === true;
  return {
    ...common({ ...task, ttl: ttlMs, pollInterval: pollIntervalMs }),
    status: hasFailed ? 'failed' : status,
  };
}

/** Both generations ask for both times. */
function common(task: JsonObject): JsonObject {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl, pollInterval } = task;
  const now = new Date().toISOString();
  const made = typeof createdAt === 'string' ? createdAt : now;
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' ? { statusMessage } : {}),
    createdAt: made,
    lastUpdatedAt: typeof lastUpdatedAt === 'string' ? lastUpdatedAt : made,
    ttl: typeof ttl === 'number' ? ttl : null,
    ...(typeof pollInterval === 'number' ? { pollInterval } : {}),
  };
}

/** How long to wait before the next look. @param task of either generation */
export function pollMs({ pollInterval, pollIntervalMs }: JsonObject): number {
  const given = typeof pollIntervalMs === 'number' ? pollIntervalMs : pollInterval;
  const ms = typeof given === 'number' && Number.isFinite(given) ? given : USUAL_POLL_MS;
  return Math.min(Math.max(ms, LEAST_POLL_MS), MOST_POLL_MS);
}

/** A result that names the task that it is of, as `tasks/result` answers. */
export function withRelatedTask(result: JsonObject, taskId: unknown): JsonObject {
  const meta = isObject(result._meta) ? result._meta : {};
  return { ...result, _meta: { ...meta, [RELATED_TASK]: { taskId } } };
}

/** The same without: the extension's results are part of their tasks. */
export function withoutRelatedTask(result: JsonObject): JsonObject {
  const { _meta, ...rest } = result;
  if (!isObject(_meta)) return result;
  const { [RELATED_TASK]: _, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

/** Id of the task that a message of 2025-11-25 belongs to. */
export function relatedTaskOf(params: JsonObject | undefined): unknown {
  const related = isObject(params?._meta) ? params._meta[RELATED_TASK] : undefined;
  return isObject(related) ? related.taskId : undefined;
}

/** Whether capabilities of either side have the extension. */
export function hasTasks(capabilities: unknown): boolean {
  const extensions = isObject(capabilities) ? capabilities.extensions : undefined;
  return isObject(extensions) && isObject(extensions[TASKS]);
}

/** Whether a request of 2026-07-28 may be answered by a task. */
export function declaresTasks(message: RpcRequest): boolean {
  return hasTasks(metaOf(message)?.[META.clientCapabilities]);
}

/** Whether a server of 2025-11-25 takes tool calls as tasks. */
export function makesTasks(capabilities: unknown): boolean {
  const tasks = isObject(capabilities) ? capabilities.tasks : undefined;
  const requests = isObject(tasks) ? tasks.requests : undefined;
  const tools = isObject(requests) ? requests.tools : undefined;
  return isObject(tools) && isObject(tools.call);
}

/** For a client of 2026-07-28 that has not declared what it asks for (-32021). */
export function tasksNotDeclared(id: RequestId, what: string): McpError {
  return new McpError(
    RPC.missingCapability,
    `Missing required client capability: ${what} needs the extension ${TASKS}`,
    { id, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
  );
}
