// Amazon Bedrock Guardrails (Bedrock Runtime API reference, "ApplyGuardrail").
import { signed } from '../../lib/aws-signature.ts';
import { urlText } from '../../lib/url-text.ts';
import type { CheckDeps } from '../contract/check.ts';
import { alias, flag, required, secret, text } from '../contract/fields.ts';
import { isObject } from '../contract/parameters.ts';
import type { JsonObject } from '../view/traffic.ts';
import { credentials, endpoint, host } from './fields.ts';
import { definePartner, unreadable } from './partner.ts';

const OPTIONAL_KEY = secret(text(4096));

/** A guardrail's verdict; with `redact` texts of which it only masked something go on masked. */
export const bedrockGuard = definePartner({
  id: 'bedrock.guard',
  redacts: true,
  fields: {
    credentials: credentials({
      awsRegion: required(host(64)),
      awsAccessKeyId: OPTIONAL_KEY,
      awsSecretAccessKey: OPTIONAL_KEY,
      awsSessionToken: OPTIONAL_KEY,
      apiKey: OPTIONAL_KEY,
      endpoint,
    }),
    guardrailId: required(alias(text(2048), 'guardrailIdentifier')),
    guardrailVersion: required(text(64)),
    redact: flag(),
  },
  validate({ credentials: given }, fault) {
    const { apiKey, awsAccessKeyId, awsSecretAccessKey } = given;
    if (apiKey === undefined && (awsAccessKeyId === undefined || awsSecretAccessKey === undefined))
      fault('credentials', 'must have apiKey, or awsAccessKeyId and awsSecretAccessKey');
  },
  async ask(value, { credentials: given, guardrailId, guardrailVersion }, { event }, deps) {
    const base =
      given.endpoint?.replace(/\/+$/, '') ??
      `https://bedrock-runtime.${given.awsRegion}.amazonaws.com${given.awsRegion.startsWith('cn-') ? '.cn' : ''}`;
    const path = [guardrailId, guardrailVersion].map(urlText);
    const url = `${base}/guardrail/${path[0]}/version/${path[1]}/apply`;
    const body = { source: event === 'input' ? 'INPUT' : 'OUTPUT', content: [{ text: { text: value } }] };
    return { url, headers: await headersOf(url, JSON.stringify(body), given, deps), body };
  },
  judge({ action, outputs, assessments }) {
    if (typeof action !== 'string') throw unreadable('bedrock.guard', 'action');
    const intervened = action === 'GUARDRAIL_INTERVENED';
    const all = Array.isArray(assessments) ? assessments.filter(isObject) : [];
    const [output] = Array.isArray(outputs) ? outputs : [];
    const masked = isObject(output) && typeof output.text === 'string' ? output.text : undefined;
    return {
      verdict: !intervened,
      data: { action, assessments: all },
      redacted: intervened && all.every((one) => !isBlocked(one)) ? masked : undefined,
    };
  },
});

interface Given {
  readonly awsRegion: string;
  readonly awsAccessKeyId: string | undefined;
  readonly awsSecretAccessKey: string | undefined;
  readonly awsSessionToken: string | undefined;
  readonly apiKey: string | undefined;
}

/** An API key of Bedrock as it is, or a signature. */
async function headersOf(
  url: string,
  body: string,
  given: Given,
  { clock }: CheckDeps,
): Promise<Record<string, string>> {
  const {
    apiKey,
    awsAccessKeyId: accessKeyId,
    awsSecretAccessKey: secretAccessKey,
    awsRegion: region,
  } = given;
  if (apiKey !== undefined) return { authorization: `Bearer ${apiKey}` };
  const pairs = await signed({
    method: 'POST',
    url: new URL(url),
    headers: {},
    body,
    region,
    service: 'bedrock',
    credentials: {
      accessKeyId: accessKeyId ?? '',
      secretAccessKey: secretAccessKey ?? '',
      sessionToken: given.awsSessionToken,
    },
    at: clock.now(),
  });
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < pairs.length; i += 2) headers[pairs[i]!] = pairs[i + 1]!;
  return headers;
}

/** Whether a policy stopped the text: masking leaves the action ANONYMIZED. */
function isBlocked(assessment: JsonObject): boolean {
  return JSON.stringify(assessment).includes('"action":"BLOCKED"');
}
