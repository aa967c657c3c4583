// One call upstream, from its first byte to its entry in the log.
import type { Call } from '../../call/call.ts';
import type { AttemptRecord, OutcomeRecord, PricingRecord, UsageRecord } from '../../call/record.ts';
import type { InFlightJournal } from '../../ledger/flight/in-flight-journal.ts';
import { type Estimate, estimateOf } from '../../ledger/limits/estimate.ts';
import type { AttemptHold } from '../../ledger/limits/target-limits.ts';
import { usageRecord } from '../../ledger/usage-record.ts';
import type { OutboundBody } from '../../lib/egress/outbound.ts';
import { loggedError } from '../../lib/error-words.ts';
import { GatewayError, withProvider } from '../../lib/errors.ts';
import type { Run } from '../../lib/runs.ts';
import type { ProviderEntry, Target } from '../../providers/dialect.ts';
import type { OperationName } from '../../providers/operations.ts';
import { hasRefusedTokens } from '../../providers/usage/media.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import { noteWhole } from './kept-bodies.ts';
import { CHOICES } from './pieces/choices.ts';
import type { Assembled, PieceForm } from './pieces/piece-form.ts';
import { withoutCredential } from './without-credential.ts';

/** Of an answer's text that is kept for an estimate, in UTF-16 units. */
export const MAX_SAID = 1024 * 1024;

/** Of names that providers and callers say for the log, in UTF-16 units. */
const MOST_NAME = 2048;

/** Words for what costs the plain rates. */
const USUAL_TIERS = new Set(['', 'auto', 'default', 'standard', 'standard_only', 'on_demand']);

/** The tier, where it does not cost the plain rates. */
export function pricedTier(tier: string | undefined): string | undefined {
  return tier === undefined || USUAL_TIERS.has(tier) ? undefined : tier;
}

/** A record while it is filled: members that were not reported stay absent. */
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What an attempt ended with. */
export interface AttemptEnd {
  readonly status: number;
  readonly outcome: OutcomeRecord;
  readonly usage?: UsageReport;
  /** The usage is the gateway's own estimate. */
  readonly usageEstimated?: boolean;
  /** What the provider reported cannot be true, and was not taken. */
  readonly usageRefused?: boolean;
  /** It is paid for, and what it used is not known. */
  readonly unpriced?: boolean;
  readonly responseModel?: string | undefined;
  /** The tier of service that the provider says it served. */
  readonly tier?: string | undefined;
  readonly error?: GatewayError;
}

/** One call upstream. Ends exactly once; later ends are ignored. */
export class Attempt {
  /** Unique; the provider is told it as x-client-request-id. */
  readonly id: string;
  readonly #call: Call;
  readonly #target: Target;
  readonly #host: string;
  #model: string;
  readonly #startedAt = Date.now();
  readonly #start = performance.now();
  readonly #aside: boolean;
  #firstTokenMs: number | undefined;
  #ended = false;
  #asked: object | undefined;
  #said: string | undefined;
  /** Where the pieces of a streamed answer are put together for the log. */
  assembled: Assembled | undefined;
  /** Of its answer's pieces. */
  form: PieceForm = CHOICES;
  #hold: AttemptHold | undefined;
  /** The most that it may use, in tokens. */
  #most: Estimate | undefined;
  /** What its integration says of a model's prices. */
  pricedBy: ((model: string) => PricingRecord | undefined) | undefined;
  #tier: string | undefined;
  /** Of its request: what stands in it as a secret is in no error. */
  #body: string | Uint8Array | undefined;

  /**
   * @param id made before its request, which carries it
   * @param aside whether it is made for the gateway itself, not for the answer of the call
   */
  constructor(call: Call, target: Target, origin: string, model: string, id: string, aside = false) {
    this.id = id;
    this.#call = call;
    this.#aside = aside;
    this.#target = target;
    this.#host = origin.slice(origin.indexOf('//') + 2);
    this.#model = model;
    if (!aside) call.record.model = model;
    call.attemptBegan();
  }

  /**
   * Notes it where a kill of the process loses it not: the provider is called when the promise resolves.
   * @param body of its request, or how many bytes it has @param request what it asks for @param makesTokens whether the operation does
   */
  noted(
    flights: Pick<InFlightJournal, 'attempt'> | undefined,
    body: OutboundBody | number,
    request: object,
    makesTokens: boolean,
  ): Promise<void> | undefined {
    this.#body = typeof body === 'string' || body instanceof Uint8Array ? body : undefined;
    if (flights === undefined) return undefined;
    this.#most = estimateOf(lengthOf(body), request, makesTokens);
    return flights.attempt(this.#call, {
      id: this.id,
      provider: this.#target.provider.id,
      host: this.#host,
      model: this.#model,
      startedAt: this.#startedAt,
      input: this.#most.input,
      output: this.#most.output,
      budgets: this.#hold?.budgets,
    });
  }

  /** What it asks for: without a report of the usage, that is estimated from it and from what was said. */
  asks(request: object): void {
    this.#asked = request;
    this.#served((request as { readonly serviceTier?: unknown }).serviceTier);
  }

  /** Which model it asks for is known: it stood after a form's files. */
  names(model: string): void {
    this.#model = model;
    if (!this.#aside) this.#call.record.model = model;
  }

  /** A stream was answered whole. */
  noteWhole(name: OperationName, answer: object): void {
    noteWhole(this.#call, name, answer);
  }

  /** A part of the answer. */
  says(part: object): void {
    this.assembled?.push(part);
    this.#served((part as { readonly serviceTier?: unknown }).serviceTier);
    if (this.#said !== undefined && this.#said.length > MAX_SAID) return;
    this.#said = (this.#said ?? '') + this.form.said(part);
  }

  /** Parts that differ in nothing but their texts: nothing else in them is new. */
  saysRun(run: Run<unknown>): void {
    this.assembled?.push(run.joined() as object);
    if (this.#said !== undefined && this.#said.length > MAX_SAID) return;
    this.#said = (this.#said ?? '') + run.text;
  }

  /** The text of an answer that is whole and is not at hand as a message. */
  saysText(text: string): void {
    this.#said = text;
  }

  /** The first piece of a streamed answer is here. */
  firstToken(): void {
    if (this.#firstTokenMs !== undefined) return;
    this.#firstTokenMs = performance.now() - this.#start;
    this.#call.record.timeToFirstTokenMs = this.#call.elapsedMs();
  }

  end(ended: AttemptEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    const { status, outcome, usageEstimated = false, responseModel = '', tier, error } = ended;
    const answeredBy = responseModel.slice(0, MOST_NAME);
    const usage = ended.usage === 'refused' ? undefined : ended.usage;
    const inPart = usage !== undefined && hasRefusedTokens(usage);
    const refused = ended.usageRefused === true || ended.usage === 'refused' || inPart;
    this.#served(tier);
    const { record: callRecord } = this.#call;
    const assumed = usage === undefined ? this.#assumed(outcome) : undefined;
    const told = usage && usageRecord(usage);
    // A stream that broke off after its provider had counted the prompt: what was said is estimated.
    const isPart =
      told !== undefined &&
      told.completionTokens === undefined &&
      outcome !== 'success' &&
      this.#asked !== undefined &&
      this.#said !== undefined;
    const record = isPart ? undefined : (told ?? assumed);
    const estimated = usageEstimated || inPart || assumed !== undefined;
    // An attempt that was given up for another one says nothing of the call.
    if (
      !this.#aside &&
      (outcome !== 'cancelled' || callRecord.attempts.length === 0 || record !== undefined)
    ) {
      callRecord.provider = this.#target.provider.id;
      callRecord.model = this.#model;
      callRecord.responseModel = answeredBy;
      callRecord.usage = record;
      callRecord.usageEstimated = estimated;
    }
    const { id } = this;
    const reached = outcome !== 'error' || (status >= 200 && status <= 299);
    const exchange =
      record === undefined && this.#asked !== undefined && reached
        ? {
            attemptId: id,
            request: this.#asked,
            answered: this.#said,
            ...(isPart ? { counted: told } : {}),
          }
        : undefined;
    if (exchange !== undefined) callRecord.unreported.push(exchange);
    const entry: Writable<AttemptRecord> = {
      id,
      provider: this.#target.provider.id,
      host: this.#host,
      model: this.#model,
      statusCode: status,
      outcome,
      startedAt: this.#startedAt,
      latencyMs: round(performance.now() - this.#start),
    };
    if (this.#firstTokenMs !== undefined) entry.timeToFirstTokenMs = round(this.#firstTokenMs);
    if (answeredBy !== '') entry.responseModel = answeredBy;
    if (record) entry.usage = record;
    if (record && estimated) entry.usageEstimated = true;
    if (refused) entry.usageRefused = true;
    // A refused report that nothing is estimated from says that it was paid for, not that it was free.
    const unknown = ended.unpriced || (refused && exchange === undefined);
    if (unknown && record === undefined) entry.unpriced = true;
    const priced = pricedTier(this.#tier);
    if (priced !== undefined) entry.serviceTier = priced;
    if (this.pricedBy !== undefined) {
      const pricing = this.pricedBy(this.#model || answeredBy);
      if (pricing !== undefined) entry.pricing = pricing;
    }
    if (error) entry.error = loggedError(error, this.#call.wordless);
    if (this.#hold?.budgets) entry.budgets = this.#hold.budgets;
    callRecord.attempts.push(entry);
    this.#hold?.ended(entry, exchange);
    this.#call.attemptEnded();
  }

  /**
   * Of one that broke off without a word of its usage, and with nothing to estimate it from, budgets are charged what
   * was held: so says its record.
   */
  #assumed(outcome: OutcomeRecord): UsageRecord | undefined {
    if (outcome === 'success' || outcome === 'error' || this.#asked !== undefined) return undefined;
    if (this.#most === undefined || !(this.#call.account.held || this.#hold)) return undefined;
    const { input, output } = this.#most;
    return { promptTokens: input, completionTokens: output, totalTokens: input + output };
  }

  /** What limits of its target hold for it is settled when it ends. */
  under(hold: AttemptHold): void {
    this.#hold = hold;
  }

  /** A limit of its target does not let it through: its provider sees nothing of it. */
  refused(thrown: unknown): GatewayError {
    const error = withProvider(thrown, this.#target.provider.id);
    this.#asked = undefined;
    this.end({ status: error.status, outcome: 'error', error });
    return error;
  }

  /** The tier of service that is asked for, or that the provider says it served: its last word counts. */
  #served(tier: unknown): void {
    if (typeof tier === 'string') this.#tier = tier.slice(0, MOST_NAME);
  }

  /** Ends with what was thrown, and gives it back with the provider named. */
  fail(
    thrown: unknown,
    heard: Pick<AttemptEnd, 'usage' | 'usageEstimated' | 'usageRefused' | 'tier'> = {},
    responseModel?: string,
  ): GatewayError {
    const { provider } = this.#target;
    const safe = withoutCredential(withProvider(thrown, provider.id), this.#target, this.#body);
    const error = withNote(safe, provider);
    this.#body = undefined;
    const outcome =
      error.reason === 'client_closed'
        ? 'cancelled'
        : this.#firstTokenMs === undefined
          ? 'error'
          : 'interrupted';
    this.end({ status: error.details.status ?? 0, outcome, ...heard, responseModel, error });
    return error;
  }
}

/** Bytes, nearly: the characters of a text; 0 for bodies that come in pieces, whose length is unknown. */
export function lengthOf(body: OutboundBody | number): number {
  if (typeof body === 'number') return body;
  return typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
}

/** What users should know of a provider (that it has ended, for one) is added to its failures. */
function withNote(error: GatewayError, { note }: ProviderEntry): GatewayError {
  if (note === undefined || !error.reason.startsWith('upstream_')) return error;
  return new GatewayError(error.reason, `${error.message} (${note})`, {
    ...error.details,
    cause: error.cause,
  });
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
