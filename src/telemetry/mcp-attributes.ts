// Names and attributes of the spans of tool calls by the conventions for the Model Context Protocol
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/). Never arguments or results.
import type { McpCallRecord } from '../call/call-record.ts';
import type { AttemptRecord } from '../call/record.ts';
import { type Attributes, addressOf, present, usd } from './span-attributes.ts';
import { errorOf } from './usage-series.ts';

/** Longest text of a caller's. */
const MOST_LETTERS = 256;

/** E.g. "tools/call search". */
export function mcpSpanName({ method, tool }: McpCallRecord): string {
  return `${method} ${tool.slice(0, MOST_LETTERS)}`;
}

/** Of the span of a call, in addition to those of every call. */
export function mcpServerAttributes(mcp: McpCallRecord): Attributes {
  const { requestId, protocolVersion, sessionId, errorType } = mcp;
  return present({
    ...common(mcp),
    'mcp.protocol.version': protocolVersion?.slice(0, MOST_LETTERS),
    'mcp.session.id': sessionId?.slice(0, MOST_LETTERS),
    'jsonrpc.request.id': String(requestId).slice(0, MOST_LETTERS),
    'error.type': errorType,
  });
}

/** Of the span of the call of the server. */
export function mcpClientAttributes(mcp: McpCallRecord, attempt: AttemptRecord): Attributes {
  const { address, port } = addressOf(attempt.host);
  return present({
    ...common(mcp),
    'server.address': address,
    'server.port': port,
    'http.response.status_code': attempt.statusCode || undefined,
    'error.type': mcp.errorType ?? (errorOf(attempt) || undefined),
    'sluice.attempt.id': attempt.id,
    'sluice.outcome': attempt.outcome,
    'sluice.cost_usd': usd(attempt.cost),
  });
}

function common({ method, tool }: McpCallRecord) {
  return {
    'mcp.method.name': method,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool.slice(0, MOST_LETTERS),
  };
}
