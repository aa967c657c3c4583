// What the checks that ask a partner's service have in common: its texts, its time, its words for what went wrong.
import {
  type Check,
  type CheckContext,
  type CheckDeps,
  CheckFailure,
  type CheckOutcome,
} from '../contract/check.ts';
import { defineCheck } from '../contract/define.ts';
import { count, defaulted } from '../contract/fields.ts';
import { type Fault, type Fields, isObject, type Parameters } from '../contract/parameters.ts';
import { deadline } from '../outward/deadline.ts';
import { postJson } from '../outward/post-json.ts';
import { bodyOf, examinedSlots, examinedTexts, requireReadable } from '../view/examined.ts';
import { rewriteSlots } from '../view/rewrite.ts';
import type { Event, JsonObject } from '../view/traffic.ts';
import { partsOf } from './long-texts.ts';

/** One question to the service. */
export interface Question {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What the service found in one text. */
export interface Judgement {
  /** Whether the text passes. */
  readonly verdict: boolean;
  /** What the caller is told. */
  readonly data: JsonObject;
  /** The text without what was found, where the service gives one. */
  readonly redacted?: string | undefined;
}

/** One partner's check. */
export interface PartnerDefinition<F extends Fields> {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly events?: readonly Event[];
  readonly fields: F;
  /** Characters that the service takes at once: longer texts are asked about in parts. */
  readonly longest?: number;
  /** Rules over several parameters. */
  validate?(parameters: Parameters<F>, fault: Fault): void;
  /** Whether parameters may ask for a text without what was found (`redact`). */
  readonly redacts?: boolean;
  ask(
    text: string,
    parameters: Parameters<F>,
    context: CheckContext,
    deps: CheckDeps,
  ): Question | Promise<Question>;
  /** @throws CheckFailure InvalidResponseError */
  judge(answer: JsonObject, parameters: Parameters<F>, context: CheckContext): Judgement;
}

/** What a status says; the service's own words may repeat the text, and are not told. */
const WORDS: Readonly<Record<number, string>> = Object.freeze({
  400: 'could not read the question: it answered',
  401: 'refuses the credentials: it answered',
  403: 'refuses the credentials: it answered',
  404: 'does not know what was asked for: it answered',
  429: 'limits the rate: it answered',
});
const TIMEOUT = { timeout: defaulted(count(1, 60_000), 5000) };

/** A check that asks the service about each text; the first that fails is told. */
export function definePartner<F extends Fields>(definition: PartnerDefinition<F>): Check {
  const { id, aliases = [], events = ['input', 'output'], redacts = false } = definition;
  return defineCheck({
    id,
    aliases,
    events,
    rewrites: redacts,
    asks: true,
    timeoutMs: 61_000,
    fields: { ...definition.fields, ...TIMEOUT },
    validate: (given, fault) => definition.validate?.(given as unknown as Parameters<F>, fault),
    async run(context, given, deps): Promise<CheckOutcome> {
      const parameters = given as unknown as Parameters<F> & { readonly timeout: number };
      const { timeout } = parameters;
      const late = (): CheckFailure =>
        new CheckFailure('TimeoutError', `${id} did not answer within ${timeout} ms`);
      const { signal, release } = deadline(deps.signal, timeout, late);
      const asking = { definition, parameters, context, deps: { ...deps, signal } };
      try {
        return redacts && (parameters as { redact?: unknown }).redact === true
          ? await redact(asking)
          : await judged(asking);
      } finally {
        release();
      }
    },
  });
}

interface Asking<F extends Fields> {
  readonly definition: PartnerDefinition<F>;
  readonly parameters: Parameters<F>;
  readonly context: CheckContext;
  readonly deps: CheckDeps;
}

async function judged<F extends Fields>(asking: Asking<F>): Promise<CheckOutcome> {
  const { context, deps } = asking;
  let shown: Judgement | undefined;
  for (const text of await examinedTexts(context, false, deps.sandbox)) {
    if (text === '') continue;
    for (const part of partsOf(text, asking.definition.longest, true)) {
      const found = await answered(asking, part);
      shown ??= found;
      if (!found.verdict) return { verdict: false, data: found.data };
    }
  }
  return { verdict: true, data: shown?.data ?? null };
}

/** Texts in which something was found are replaced; what cannot be replaced fails. */
async function redact<F extends Fields>(asking: Asking<F>): Promise<CheckOutcome> {
  const { context } = asking;
  requireReadable(context);
  let [verdict, data]: [boolean, JsonObject | null] = [true, null];
  const json = await rewriteSlots(bodyOf(context).json, examinedSlots(context, false), async (texts) => {
    const out: string[] = [];
    for (const { text } of texts) {
      let written = '';
      for (const part of partsOf(text, asking.definition.longest, false)) {
        const found = await answered(asking, part);
        data ??= found.data;
        if (!found.verdict) data = found.data;
        if (!found.verdict && found.redacted === undefined) verdict = false;
        written += found.verdict ? part : (found.redacted ?? part);
      }
      out.push(written);
    }
    return out;
  });
  if (json === undefined) return { verdict, data };
  return { verdict, data, transformed: context.event === 'input' ? { request: json } : { response: json } };
}

async function answered<F extends Fields>(
  { definition, parameters, context, deps }: Asking<F>,
  text: string,
): Promise<Judgement> {
  const { id } = definition;
  const question = await definition.ask(text, parameters, context, deps);
  const { status, json } = await postJson(deps, { ...question, param: 'credentials' });
  if (status === 413)
    throw new CheckFailure('InputTooLongError', `the text is longer than ${id} takes (status 413)`);
  if (status < 200 || status > 299)
    throw new CheckFailure('CallFailedError', `${id} ${WORDS[status] ?? 'answered'} with status ${status}`);
  if (!isObject(json))
    throw new CheckFailure('InvalidResponseError', `${id} did not answer with a JSON object`);
  return definition.judge(json, parameters, context);
}

/** @throws CheckFailure when the service did not say what its contract promises */
export function unreadable(id: string, what: string): CheckFailure {
  return new CheckFailure('InvalidResponseError', `the answer of ${id} has no ${what}`);
}
