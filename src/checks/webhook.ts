// default.webhook: an address of the user judges the call, and may write to it. It is sent the call without the
// caller's headers; those that `forwardHeaders` names are added, credentials never.
import { type CheckContext, CheckFailure, type CheckOutcome } from './contract/check.ts';
import { defineCheck } from './contract/define.ts';
import { alias, count, defaulted, required, texts } from './contract/fields.ts';
import { isObject } from './contract/parameters.ts';
import { callReport } from './outward/call-report.ts';
import { deadline } from './outward/deadline.ts';
import { forwardedHeaders, headersField, requireForwardable, urlField } from './outward/headers.ts';
import { postJson } from './outward/post-json.ts';

export const webhook = defineCheck({
  id: 'default.webhook',
  events: ['input', 'output'],
  rewrites: true,
  asks: true,
  timeoutMs: 31_000,
  fields: {
    webhookURL: required(alias(urlField, 'webhookUrl')),
    headers: headersField,
    timeout: defaulted(count(1, 30_000), 3000),
    forwardHeaders: defaulted(texts({ least: 0, most: 50 }), []),
  },
  validate: ({ forwardHeaders }, fault) => requireForwardable(forwardHeaders, 'forwardHeaders', fault),
  async run(context, { webhookURL, headers, timeout, forwardHeaders }, deps): Promise<CheckOutcome> {
    const { signal, release } = deadline(
      deps.signal,
      timeout,
      () => new CheckFailure('TimeoutError', `the webhook did not answer within ${timeout} ms`),
    );
    try {
      const { status, json } = await postJson(
        { ...deps, signal },
        {
          url: webhookURL,
          param: 'webhookURL',
          headers: { ...forwardedHeaders(forwardHeaders, context.traffic, deps), ...headers },
          body: callReport(context),
        },
      );
      return outcomeOf(context, webhookURL, timeout, status, json);
    } finally {
      release();
    }
  },
});

function outcomeOf(
  context: CheckContext,
  url: string,
  timeout: number,
  status: number,
  json: unknown,
): CheckOutcome {
  if (status === 413)
    throw new CheckFailure('InputTooLongError', 'the call is longer than the webhook takes (status 413)');
  if (status < 200 || status > 299)
    throw new CheckFailure('CallFailedError', `the webhook answered with status ${status}`);
  if (!isObject(json))
    throw new CheckFailure('InvalidResponseError', 'the webhook did not answer with a JSON object');
  const { verdict = true, data = null } = json;
  if (typeof verdict !== 'boolean') {
    throw new CheckFailure('InvalidResponseError', 'the verdict of the webhook is neither true nor false');
  }
  const transformed = transformedOf(context, json.transformedData);
  return {
    verdict,
    data: {
      verdict,
      explanation: verdict ? 'Webhook request succeeded' : 'Webhook request failed',
      webhookUrl: withoutQuery(url),
      responseData: data,
      requestContext: { timeout },
    },
    ...(transformed === undefined ? {} : { transformed }),
  };
}

/** What the webhook wrote; it may write to the side that it was asked about. */
function transformedOf({ event }: CheckContext, data: unknown): CheckOutcome['transformed'] {
  const side = isObject(data) ? data[event === 'input' ? 'request' : 'response'] : undefined;
  const json = isObject(side) ? side.json : undefined;
  if (json === undefined || json === null) return undefined;
  if (!isObject(json))
    throw new CheckFailure('InvalidResponseError', 'the webhook wrote a body that is no object');
  return event === 'input' ? { request: json } : { response: json };
}

/** A URL's query may hold a token. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
