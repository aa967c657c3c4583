// Telemetry as calls see it: how a call gets its place in a trace, and where its end is reported. The library is not
// imported here, because it is loaded only when telemetry is configured.

import type { Call } from '../call/call.ts';
import type { McpCallRecord } from '../call/call-record.ts';
import type { RequestRecord } from '../call/record.ts';
import type { TraceContext } from '../lib/trace-context.ts';

/** What a call's place in a trace is read from. */
export type BeginningCall = Pick<Call, 'traceId' | 'headers'>;

export interface CallSpans {
  /** The call's position in its trace: below the caller's `traceparent`, or a root. Undefined: no spans are made. */
  begin(call: BeginningCall): TraceContext | undefined;
  /**
   * Takes a call that has ended, with all that it called. Returns at once.
   * @param mcp of a tool call of the Model Context Protocol
   */
  ended(entry: RequestRecord, context: TraceContext, mcp: McpCallRecord | undefined): void;
}

/** Telemetry that is exported. */
export interface Telemetry extends CallSpans {
  stats(): TelemetryStats;
  /** Exports what waits, within the bound, and stops. */
  close(ms: number): Promise<void>;
}

/** Counts since the start. */
export interface TelemetryStats {
  readonly spansExported: number;
  /** The queue was full, or an export failed. */
  readonly spansDropped: number;
  /** Spans that wait or are on the way. */
  readonly spansWaiting: number;
  /** Exports, of either signal, that were given up. */
  readonly failures: number;
}
