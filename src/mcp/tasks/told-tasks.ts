// Messages of servers that name tasks: a caller hears of its own alone, by ids that are sealed for it.
import { isToolCallable, type Switched } from '../visibility.ts';
import { isObject, type JsonObject, type RpcMessage, type RpcResponse } from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import { RELATED_TASK, unknownTask } from './asked-tasks.ts';
import type { CallerTasks, TaskRef } from './task-ids.ts';

/** What a message is read with. */
export interface ToldTasks {
  readonly tasks: CallerTasks;
  readonly server: Switched;
  /** Of the request that is answered; empty: there is none. */
  readonly method: string;
  /** The tool that was called; undefined: none was. */
  readonly tool: string | undefined;
  /** The server's session, where the client has none of its own. */
  readonly session: string | undefined;
  /** The task that the request names; undefined: none. */
  readonly task: TaskRef | undefined;
}

/**
 * A response with the caller's ids; undefined: it is of a task that is none of the caller's.
 * @throws GatewayError not_found where the task's tool was hidden meanwhile
 */
export function responseWithOwnTasks(response: RpcResponse, told: ToldTasks): RpcResponse | undefined {
  const { result } = response;
  if (told.task !== undefined && !isToolCallable(told.server, told.task.tool)) throw unknownTask();
  if (result === undefined) return response;
  const own = resultOf(result, told);
  if (own === undefined) return undefined;
  const whole = withRelated(own, told);
  return whole === result ? response : { ...response, result: whole };
}

/** A notification, or what a server asks, with the caller's ids; undefined: it is not for the caller. */
export function noticeWithOwnTasks<T extends RpcMessage & { readonly method: string }>(
  message: T,
  told: ToldTasks,
): T | undefined {
  const { method } = message;
  const params = (message as { readonly params?: JsonObject }).params;
  if (params === undefined) return message;
  if (method.startsWith('notifications/tasks')) {
    const taskId = ownId(params.taskId, told);
    return taskId === undefined
      ? undefined
      : { ...message, params: withRelated({ ...params, taskId }, told) };
  }
  const { notifications } = params;
  const isAcknowledged = method === 'notifications/subscriptions/acknowledged';
  if (isAcknowledged && isObject(notifications) && Array.isArray(notifications.taskIds)) {
    const taskIds = notifications.taskIds.flatMap((one) => ownId(one, told) ?? []);
    return { ...message, params: { ...params, notifications: { ...notifications, taskIds } } };
  }
  const related = withRelated(params, told);
  return related === params ? message : { ...message, params: related };
}

/**
 * A response on a stream that was resumed: of which request is not known, and a task is told as one that has gone where it
 * is none that the caller has seen.
 */
export function resumedWithOwnTasks(response: RpcResponse, told: ToldTasks): RpcResponse {
  const { result, id } = response;
  const names = result !== undefined && (result.task ?? result.taskId ?? result.tasks) !== undefined;
  if (!names) return responseWithOwnTasks(response, told) ?? response;
  return {
    jsonrpc: '2.0',
    id,
    error: { code: RPC.internal, message: 'the stream with this answer has ended' },
  };
}

function resultOf(result: JsonObject, told: ToldTasks): JsonObject | undefined {
  const { method, tasks, tool, session } = told;
  if (method === 'tools/call') {
    const { task } = result;
    if (result.resultType === 'task') return withId(result, tasks.seal(result.taskId, tool ?? '', session));
    if (!isObject(task) || task.taskId === undefined) return result;
    const own = withId(task, tasks.seal(task.taskId, tool ?? '', session));
    return own && { ...result, task: own };
  }
  if (method === 'tasks/list' && Array.isArray(result.tasks)) {
    const own = result.tasks.flatMap((one) =>
      isObject(one) ? (withId(one, ownId(one.taskId, told)) ?? []) : [],
    );
    return { ...result, tasks: own };
  }
  if (!method.startsWith('tasks/') || result.taskId === undefined) return result;
  return withId(result, ownId(result.taskId, told));
}

function withId(object: JsonObject, taskId: string | undefined): JsonObject | undefined {
  return taskId === undefined ? undefined : { ...object, taskId };
}

/** The id of a task that this caller has seen, and whose tool it may call. */
function ownId(id: unknown, { tasks, server }: ToldTasks): string | undefined {
  const ref = tasks.known(id);
  return ref !== undefined && isToolCallable(server, ref.tool)
    ? tasks.seal(id, ref.tool, ref.session)
    : undefined;
}

/** Without the relation where it is to a task of another caller. */
function withRelated(members: JsonObject, told: ToldTasks): JsonObject {
  const { _meta } = members;
  if (!isObject(_meta) || !isObject(_meta[RELATED_TASK])) return members;
  const { [RELATED_TASK]: related, ...rest } = _meta;
  const taskId = ownId((related as JsonObject).taskId, told);
  return { ...members, _meta: taskId === undefined ? rest : { ...rest, [RELATED_TASK]: { taskId } } };
}
