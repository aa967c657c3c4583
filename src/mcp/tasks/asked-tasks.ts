// Messages of clients that name tasks: the caller's own alone, of tools that it may call now, go on by the server's ids.
import { fail } from '../../lib/errors.ts';
import { isToolCallable, type Switched } from '../visibility.ts';
import { isObject, type JsonObject, type RpcMessage } from '../wire/json-rpc.ts';
import type { CallerTasks, TaskRef } from './task-ids.ts';

/** The extension of 2026-07-28; in `_meta`: the task that a message belongs to. */
export const TASKS = 'io.modelcontextprotocol/tasks';
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

export interface AskedTasks {
  readonly message: RpcMessage;
  /** The server's id in the place of the one that headers repeat; undefined: they repeat none. */
  readonly named: string | undefined;
}

/**
 * The message with the server's ids.
 * @throws GatewayError not_found for a task that is none of the caller's, and for those of hidden tools
 */
export function withServerTasks(message: RpcMessage, tasks: CallerTasks, server: Switched): AskedTasks {
  if (!('method' in message)) return { message: answerWithServerTasks(message, tasks), named: undefined };
  const { method, params } = message;
  if (method.startsWith('tasks/') && params?.taskId !== undefined) {
    const { id } = shown(tasks.open(params.taskId), server);
    return { message: { ...message, params: { ...params, taskId: id } }, named: id };
  }
  if (method === 'subscriptions/listen' && isObject(params?.notifications)) {
    const { notifications } = params;
    if (!Array.isArray(notifications.taskIds)) return { message, named: undefined };
    const taskIds = notifications.taskIds.map((one) => shown(tasks.open(one), server).id);
    return {
      message: { ...message, params: { ...params, notifications: { ...notifications, taskIds } } },
      named: undefined,
    };
  }
  return { message, named: undefined };
}

/** An answer to what a server asked for a task says which. */
function answerWithServerTasks<T extends RpcMessage>(message: T, tasks: CallerTasks): T {
  const { result } = message as { readonly result?: JsonObject };
  const related = isObject(result?._meta) ? result._meta[RELATED_TASK] : undefined;
  const ref = isObject(related) ? tasks.open(related.taskId) : undefined;
  if (result === undefined || ref === undefined) return message;
  const _meta = { ...(result._meta as JsonObject), [RELATED_TASK]: { taskId: ref.id } };
  return { ...message, result: { ...result, _meta } };
}

function shown(ref: TaskRef | undefined, server: Switched): TaskRef {
  if (ref !== undefined && isToolCallable(server, ref.tool)) return ref;
  throw fail('not_found', 'Unknown task');
}
