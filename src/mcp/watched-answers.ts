// Answers that last: they end when their caller may not have them any more.
import type { McpServer } from '../access/mcp/mcp-server.ts';
import type { Call } from '../call/call.ts';
import type { Admission } from './admission.ts';
import { AllServers } from './all/all-servers.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import { liveSwitches } from './live-switches.ts';
import { OpenStreams } from './open-streams.ts';
import type { Asked, AskedWithout, Relayed } from './relay/asked.ts';
import { unknownTask } from './tasks/asked-tasks.ts';
import { isToolCallable } from './visibility.ts';
import { isRequest } from './wire/json-rpc.ts';

/** A request, with the message that it may have. */
export type MaybeAsked = AskedWithout & Partial<Pick<Asked, 'message'>>;

export class WatchedAnswers {
  readonly #deps: Pick<GatewayDeps, 'isStillValid' | 'replica'>;
  readonly #admission: Admission;
  readonly streams = new OpenStreams();

  constructor(deps: Pick<GatewayDeps, 'isStillValid' | 'replica'>, admission: Admission) {
    this.#deps = deps;
    this.#admission = admission;
  }

  /** An answer that does not begin before a task is over is waited for as a stream is: while the caller may have it. */
  async unlessHidden(call: Call, asked: Asked, work: () => Promise<Relayed>): Promise<Relayed> {
    const { message } = asked;
    if (!isRequest(message) || message.method !== 'tasks/result') return work();
    const leave = this.whileAllowed(call, asked);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Ends a call when its caller may not have the answer any more. @param called whose answer it is @returns what ends the watch */
  whileAllowed(call: Call, asked: MaybeAsked, called: McpServer = asked.server): () => void {
    const isHidden = this.#isTaskHidden(asked);
    return this.streams.add({
      isAllowed: async () =>
        !isHidden() &&
        this.#admission.isOpen(called, asked.principal) &&
        (await this.#deps.isStillValid(call)),
      end: (why) => call.abort(isHidden() ? unknownTask() : why),
    });
  }

  /** Whether the tool of the task that a request waits for was hidden meanwhile. */
  #isTaskHidden(asked: MaybeAsked): () => boolean {
    const { message, tasks: [task] = [], server, principal } = asked;
    if (task === undefined || message === undefined || !isRequest(message)) return () => false;
    if (!message.method.startsWith('tasks/') || AllServers.isStandIn(server)) return () => false;
    const switches = liveSwitches(this.#deps.replica, server, principal);
    return () => !isToolCallable(switches, task.tool);
  }
}
