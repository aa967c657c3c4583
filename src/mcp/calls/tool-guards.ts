// Guardrails around one tool call: over its arguments before it is sent, over its result before it is told.
import type { AbortLike } from '../../lib/abort.ts';
import type { JsonObject, RpcResponse } from '../wire/json-rpc.ts';

export interface ToolGuards {
  /** Whether results are checked. */
  readonly checksOutput: boolean;
  /** The arguments as the guardrails leave them. @throws GatewayError guardrail_denied (446) */
  input(args: JsonObject | undefined, signal: AbortLike): Promise<JsonObject | undefined>;
  /** The response's text as the guardrails leave it. @throws GatewayError guardrail_denied (446) */
  output(response: RpcResponse, text: string, signal: AbortLike): Promise<string>;
}
