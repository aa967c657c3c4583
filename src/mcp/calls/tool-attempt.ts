// A tool call's place in the books: one attempt at the upstream, its price, and what became of it.
import { randomUUID } from 'node:crypto';
import type { Call } from '../../call/call.ts';
import type { AttemptRecord, OutcomeRecord } from '../../call/record.ts';
import { GatewayError, toGatewayError } from '../../lib/errors.ts';

/** The provider that entries of tool calls name. */
export const MCP_PROVIDER = 'mcp';

/** What a tool is called in entries and price lists: the name that it has at the aggregated endpoint, too. */
export function entryNameOf(slug: string, tool: string): string {
  return `${slug}__${tool}`;
}

/** Ends once; later ends are ignored. */
export class ToolAttempt {
  readonly #call: Call;
  readonly #tool: string;
  readonly #host: string;
  readonly #price: number | undefined;
  readonly #startedAt = Date.now();
  readonly #start = performance.now();
  #isOver = false;

  constructor(call: Call, tool: string, host: string, price: number | undefined) {
    this.#call = call;
    this.#tool = tool;
    this.#host = host;
    this.#price = price;
    call.attemptBegan();
  }

  /** @param isError the tool, or the protocol, answered with an error */
  answered(status: number, isError: boolean): void {
    this.#end(isError ? 'error' : 'success', status, undefined);
  }

  failed(thrown: unknown): void {
    const error = toGatewayError(thrown);
    const outcome = error.reason === 'client_closed' ? 'cancelled' : 'error';
    this.#end(outcome, error instanceof GatewayError ? error.status : 500, error);
  }

  #end(outcome: OutcomeRecord, statusCode: number, error: GatewayError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { record } = this.#call;
    const latencyMs = Math.round((performance.now() - this.#start) * 1000) / 1000;
    const paid = outcome === 'success' || statusCode === 200;
    const attempt: AttemptRecord = {
      id: randomUUID(),
      provider: MCP_PROVIDER,
      host: this.#host,
      model: record.model,
      statusCode,
      outcome,
      startedAt: this.#startedAt,
      latencyMs,
      ...(this.#price !== undefined && paid ? priced(this.#price) : {}),
      ...(error === undefined ? {} : { error: { reason: error.reason, message: error.message } }),
    };
    record.attempts.push(attempt);
    record.spans ??= [];
    record.spans.push({
      kind: 'tool',
      name: this.#tool,
      startedAt: this.#startedAt,
      latencyMs,
      verdict: outcome === 'success' ? 'called' : outcome,
    });
    if (record.outcome === undefined && outcome === 'error') record.outcome = 'error';
    this.#call.attemptEnded();
  }
}

/** A call has no tokens; its price is for the call itself. */
function priced(price: number): Pick<AttemptRecord, 'usage' | 'pricing'> {
  return { usage: { promptTokens: 0, totalTokens: 0 }, pricing: { rates: { request: price } } };
}
