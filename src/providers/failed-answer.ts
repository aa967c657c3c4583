// An answer with a good status that tells that its turn failed: an error, and paid all the same.
import { type ErrorDetails, GatewayError } from '../lib/errors.ts';
import type { UsageReport } from './usage/report.ts';

/** The error, with what the provider counted. */
export class FailedAnswer extends GatewayError {
  /** Undefined: it counted nothing. */
  readonly usage: UsageReport;
  readonly model: string | undefined;

  constructor(message: string, details: ErrorDetails, usage?: UsageReport, model?: string) {
    super('upstream_status', message, details);
    this.usage = usage;
    this.model = model;
  }
}
