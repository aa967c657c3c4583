// Pangea AI Guard and Redact (Pangea API, "AI Guard" v1, "Redact" v1).
import { flag, object, text } from '../contract/fields.ts';
import { isObject } from '../contract/parameters.ts';
import type { JsonObject } from '../view/traffic.ts';
import { credentials, endpoint, host, key } from './fields.ts';
import { definePartner, type Question, unreadable } from './partner.ts';

const CREDENTIALS = credentials({ apiKey: key, domain: host(), endpoint });

interface Pangea {
  readonly apiKey: string;
  readonly domain: string | undefined;
  readonly endpoint: string | undefined;
}

function question(
  { apiKey, domain, endpoint: base }: Pangea,
  service: string,
  path: string,
  body: unknown,
): Question {
  const at = base?.replace(/\/+$/, '') ?? `https://${service}.${domain ?? 'aws.us.pangea.cloud'}`;
  return { url: at + path, headers: { authorization: `Bearer ${apiKey}` }, body };
}

/** Pangea says in `status` whether it could do what was asked. */
function resultOf(id: string, { status, result }: JsonObject): JsonObject {
  if (status !== 'Success' || !isObject(result)) throw unreadable(id, 'result');
  return result;
}

/** What the recipe's detectors find. */
export const pangeaTextGuard = definePartner({
  id: 'pangea.textGuard',
  fields: { credentials: CREDENTIALS, recipe: text(256), overrides: object(), debug: flag() },
  ask: (value, { credentials: given, recipe, overrides, debug }) =>
    question(given, 'ai-guard', '/v1/text/guard', {
      text: value,
      ...(recipe === undefined ? {} : { recipe }),
      ...(overrides === undefined ? {} : { overrides }),
      ...(debug ? { debug } : {}),
    }),
  judge(answer) {
    const { detectors, blocked } = resultOf('pangea.textGuard', answer);
    const found = isObject(detectors) ? Object.entries(detectors) : [];
    const detected = found.filter(([, one]) => isObject(one) && one.detected === true).map(([name]) => name);
    return {
      verdict: blocked !== true && detected.length === 0,
      data: { detected, blocked: blocked === true },
    };
  },
});

/** Personal data, which may be taken out. */
export const pangeaPii = definePartner({
  id: 'pangea.pii',
  redacts: true,
  fields: { credentials: CREDENTIALS, redact: flag() },
  ask: (value, { credentials: given }) => question(given, 'redact', '/v1/redact', { text: value }),
  judge(answer) {
    const { count, redacted_text: redacted } = resultOf('pangea.pii', answer);
    const found = typeof count === 'number' ? count : 0;
    return {
      verdict: found === 0,
      data: { count: found },
      redacted: typeof redacted === 'string' ? redacted : undefined,
    };
  },
});
