// Prompt Security (its API's POST /api/protect).
import type { Check } from '../contract/check.ts';
import { alias } from '../contract/fields.ts';
import { isObject } from '../contract/parameters.ts';
import { credentials, endpoint, host, key } from './fields.ts';
import { definePartner, unreadable } from './partner.ts';

function protect(side: 'prompt' | 'response'): Check {
  const id = `promptsecurity.protect${side === 'prompt' ? 'Prompt' : 'Response'}`;
  return definePartner({
    id,
    aliases: [id.replace('promptsecurity', 'prompt-security')],
    events: [side === 'prompt' ? 'input' : 'output'],
    fields: {
      credentials: credentials({ apiDomain: host(), apiKey: alias(key, 'appId'), endpoint }),
    },
    validate({ credentials: given }, fault) {
      if (given.endpoint === undefined && given.apiDomain === undefined)
        fault('credentials.apiDomain', 'is required, or credentials.endpoint in its place');
    },
    ask: (value, { credentials: { apiDomain, apiKey, endpoint: base } }) => ({
      url: `${base?.replace(/\/+$/, '') ?? `https://${apiDomain ?? ''}`}/api/protect`,
      headers: { 'app-id': apiKey },
      body: { [side]: value },
    }),
    judge({ result }) {
      const found = isObject(result) ? result[side] : undefined;
      if (!isObject(found) || typeof found.passed !== 'boolean')
        throw unreadable(id, `result.${side}.passed`);
      return { verdict: found.passed, data: { passed: found.passed, violations: found.violations ?? [] } };
    },
  });
}

/** Of the request. */
export const promptSecurityPrompt = protect('prompt');
/** Of the answer. */
export const promptSecurityResponse = protect('response');
