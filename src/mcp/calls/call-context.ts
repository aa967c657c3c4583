// What a tool call of the protocol brings to the operation that counts, limits and logs it: the message itself, and how
// it is answered. Attached to the operation's message, as a call from within the process.
import type { Message } from '@bufbuild/protobuf';
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { Answer } from '../relay/asked.ts';
import type { JsonObject, RpcRequest } from '../wire/json-rpc.ts';
import type { Frame } from '../wire/sse-frames.ts';

/** A tool call on its way. */
export interface ToolCallContext {
  readonly server: McpServer;
  readonly request: RpcRequest;
  /** Host and port of the upstream. */
  readonly host: string;
  /** Why it is not made: it is counted and logged, and nothing else. */
  readonly refusal?: unknown;
  /** Sends the call, with arguments that guardrails may have written. @param mayWait a task may be the answer */
  readonly run: (args: JsonObject | undefined, mayWait: boolean) => Promise<Answer>;
  /** The answer's head, once it has begun. */
  answer: Answer | undefined;
}

const contexts = new WeakMap<object, ToolCallContext>();
const frames = new WeakMap<object, Frame>();

export function attachContext<T extends Message>(message: T, context: ToolCallContext): T {
  contexts.set(message, context);
  return message;
}

export function contextOf(message: object): ToolCallContext | undefined {
  return contexts.get(message);
}

/** The event that a message of the operation's answer came as. */
export function attachFrame<T extends Message>(message: T, frame: Frame): T {
  frames.set(message, frame);
  return message;
}

export function frameOf(message: object): Frame | undefined {
  return frames.get(message);
}
