// Messages of clients that name tasks: the caller's own alone, of tools that it may call now, go on by the server's ids.
import { fail, type GatewayError } from '../../lib/errors.ts';
import { isToolCallable, type Switched } from '../visibility.ts';
import { isObject, type JsonObject, type RpcMessage } from '../wire/json-rpc.ts';
import type { CallerTasks, OpenedTask } from './task-ids.ts';

/** The extension of 2026-07-28; in `_meta`: the task that a message belongs to. */
export const TASKS = 'io.modelcontextprotocol/tasks';
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

export interface AskedTasks {
  readonly message: RpcMessage;
  /** The server's id in the place of the one that headers repeat; undefined: they repeat none. */
  readonly named: string | undefined;
  /** The tasks that it names. */
  readonly tasks: readonly OpenedTask[];
}

const NO_TASKS = { named: undefined, tasks: [] } as const;
/** Tasks that one subscription follows. */
const MOST_WATCHED = 100;

/**
 * The message with the server's ids.
 * @throws GatewayError not_found for a task that is none of the caller's, and for those of hidden tools
 */
export function withServerTasks(message: RpcMessage, tasks: CallerTasks, server: Switched): AskedTasks {
  if (!('method' in message)) return { ...NO_TASKS, message: answerWithServerTasks(message, tasks) };
  const { method, params } = message;
  if (method.startsWith('tasks/') && params?.taskId !== undefined) {
    const task = opened(params.taskId, tasks, server);
    const { id } = task;
    return { message: { ...message, params: { ...params, taskId: id } }, named: id, tasks: [task] };
  }
  if (method === 'subscriptions/listen' && isObject(params?.notifications)) {
    const { notifications } = params;
    if (!Array.isArray(notifications.taskIds)) return { ...NO_TASKS, message };
    if (notifications.taskIds.length > MOST_WATCHED)
      throw fail('validation_failed', `Invalid params: taskIds has more than ${MOST_WATCHED} items`);
    const all = notifications.taskIds.map((one) => opened(one, tasks, server));
    const own = { ...notifications, taskIds: all.map(({ id }) => id) };
    return {
      message: { ...message, params: { ...params, notifications: own } },
      named: undefined,
      tasks: all,
    };
  }
  return { ...NO_TASKS, message };
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

function opened(shown: unknown, tasks: CallerTasks, server: Switched): OpenedTask {
  const ref = tasks.open(shown);
  if (ref === undefined || !isToolCallable(server, ref.tool)) throw unknownTask();
  return { ...ref, shown: String(shown) };
}

/** For tasks of others, and of tools that are hidden, in the words for those that do not exist. */
export function unknownTask(): GatewayError {
  return fail('not_found', 'Unknown task');
}
