// The operation behind `tools/call`: refused, guarded, sent, and noted in the books. Limits, the log's entry and spans
// are made around it, as around every call of the data plane.
import { create } from '@bufbuild/protobuf';
import {
  type CallToolRequest,
  type CallToolResponse,
  CallToolResponseSchema,
} from '../../../gen/gateway/inference/v2/mcp_pb.ts';
import type { Call } from '../../call/call.ts';
import { readMetadata } from '../../inference/plan/request-settings.ts';
import { fail } from '../../lib/errors.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Answer } from '../relay/asked.ts';
import { isToolCallable, unknownTool } from '../visibility.ts';
import { isObject, type JsonObject, type RpcResponse } from '../wire/json-rpc.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { attachFrame, contextOf, type ToolCallContext } from './call-context.ts';
import { ToolAttempt } from './tool-attempt.ts';
import type { ToolGuards } from './tool-guards.ts';

export interface CallToolDeps {
  readonly guards: (call: Call, context: ToolCallContext, tool: string) => ToolGuards | undefined;
  /** A call that came over gRPC or Connect, as one of the protocol. @throws GatewayError, McpError */
  readonly fromRpc: (request: CallToolRequest, call: Call) => ToolCallContext;
}

/** The methods of McpService. */
export function mcpService(deps: CallToolDeps) {
  return {
    async callTool(request: CallToolRequest, call: Call): Promise<AsyncIterable<CallToolResponse>> {
      const context = contextOf(request) ?? deps.fromRpc(request, call);
      const { headers, clientMetadata, defaultMetadata, record } = call;
      record.metadata = { ...clientMetadata, ...readMetadata(headers), ...defaultMetadata };
      if (context.refusal !== undefined) throw context.refusal;
      if (!isToolCallable(context.server, request.tool)) throw unknownTool(request.tool);
      return started(answered(deps, context, call, request.tool));
    },
  };
}

/** The messages of the answer; the head of it stands in the context once the first one is there. */
async function* answered(
  deps: CallToolDeps,
  context: ToolCallContext,
  call: Call,
  tool: string,
): AsyncGenerator<CallToolResponse, void> {
  const guards = deps.guards(call, context, tool);
  const args = argumentsOf(context);
  const written = guards === undefined ? args : await guards.input(args, call.signal);
  const attempt = new ToolAttempt(call, tool, context.host, context.server.priceOf(tool));
  try {
    // What a task gives later passes no guardrails: a tool whose results are checked is waited for.
    const isChecked = guards?.checksOutput === true;
    const answer = await context.run(written, !isChecked);
    context.answer = answer;
    call.record.status = answer.status;
    call.record.streamed = typeof answer.body !== 'string';
    for await (const frame of framesOf(answer)) {
      const { data = '', response } = frame;
      if (response === undefined) {
        yield message(frame);
        continue;
      }
      if (call.record.mcp !== undefined) call.record.mcp.errorType = errorTypeOf(response);
      if (isChecked && isTask(response)) throw garbage('answered with a task that was not asked for');
      attempt.answered(answer.status, isFailure(response));
      const text = guards === undefined ? data : await guards.output(response, data, call.signal);
      if (call.bodies) call.bodies.response = () => text;
      yield message({ ...frame, data: text });
    }
    // A stream that the client resumes has its response later.
    attempt.answered(answer.status, false);
  } catch (thrown) {
    attempt.failed(thrown);
    throw thrown;
  } finally {
    attempt.failed(fail('client_closed', 'the client has left'));
  }
}

function argumentsOf({ request }: ToolCallContext): JsonObject | undefined {
  const args = request.params?.arguments;
  if (args === undefined) return undefined;
  if (!isObject(args)) throw fail('validation_failed', 'Invalid params: arguments must be an object');
  return args;
}

async function* framesOf({ body, response }: Answer): AsyncGenerator<Frame, void> {
  if (typeof body === 'string') yield { data: body, ...(response === undefined ? {} : { response }) };
  else if (body !== undefined) yield* body;
}

function message(frame: Frame): CallToolResponse {
  return attachFrame(create(CallToolResponseSchema, { message: frame.data ?? '' }), frame);
}

function isFailure({ result, error }: RpcResponse): boolean {
  return error !== undefined || result?.isError === true;
}

function isTask({ result }: RpcResponse): boolean {
  return result?.resultType === 'task' || isObject(result?.task);
}

/** As traces call it; undefined: there is none. */
function errorTypeOf({ result, error }: RpcResponse): string | undefined {
  if (error !== undefined) return String(error.code);
  return result?.isError === true ? 'tool_error' : undefined;
}

/** Resolves once the first message is at hand, so that a failure before it keeps its status. */
async function started<T>(messages: AsyncGenerator<T, void>): Promise<AsyncIterable<T>> {
  const first = await messages.next();
  return {
    [Symbol.asyncIterator]() {
      let held: IteratorResult<T, void> | undefined = first;
      return {
        next(): Promise<IteratorResult<T, void>> {
          const given = held;
          held = undefined;
          return given === undefined ? messages.next() : Promise.resolve(given);
        },
        return: () => messages.return(),
      };
    },
  };
}
