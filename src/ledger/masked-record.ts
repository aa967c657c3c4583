// The bodies of a call without secrets: providers repeat what they were sent.
import { type Masked, maskToolSecrets, TOOL_MASK } from '../lib/tool-secrets.ts';
import type { BodiesRecord, BodyRecord } from '../store/log-store.ts';
import { maskedInSteps, SHORTEST_SECRET, withoutBegun } from './masked-text.ts';

/**
 * The record with the secrets masked in every text of it, and with them what its requests hand to tool servers. Of a
 * request that hands over more than can be looked for, no other text is kept. It works in steps of some milliseconds.
 */
export function* maskedRecord(plain: BodiesRecord, own: readonly string[]): Generator<void, BodiesRecord> {
  const { request, response, transformedRequest, originalResponse, hooks, ...rest } = plain;
  const asked = yield* withoutTools(request);
  const sent = yield* withoutTools(transformedRequest);
  const forTools = asked.secrets && sent.secrets && [...asked.secrets, ...sent.secrets];
  const secrets = [...own, ...(forTools ?? []), ...(forTools ?? []).map(escaped)].filter(
    ({ length }) => length >= SHORTEST_SECRET,
  );
  function* clean<T extends BodyRecord | undefined>(message: T): Generator<void, T> {
    if (message?.body === undefined) return message;
    if (forTools === undefined) return unread(message);
    if (secrets.length === 0) return message;
    const body = yield* cleanBody(message, message.body, secrets);
    return body === message.body ? message : { ...message, body };
  }
  const shownHooks =
    hooks === undefined || forTools === undefined ? undefined : yield* maskedInSteps(hooks, secrets);
  return {
    ...rest,
    request: yield* clean(asked.message),
    response: yield* clean(response),
    ...(sent.message === undefined ? {} : { transformedRequest: yield* clean(sent.message) }),
    ...(originalResponse === undefined ? {} : { originalResponse: yield* clean(originalResponse) }),
    ...(shownHooks === undefined ? {} : { hooks: shownHooks }),
  };
}

/** A request without what it hands to tool servers, also where that is shorter than a secret that is looked for. */
function* withoutTools<T extends BodyRecord | undefined>(
  message: T,
): Generator<void, { readonly message: T; readonly secrets: Masked['secrets'] }> {
  if (message?.body === undefined || message.base64) return { message, secrets: [] };
  const { text, secrets } = yield* maskToolSecrets(message.body);
  return { message: text === message.body ? message : { ...message, body: text }, secrets };
}

function unread<T extends BodyRecord>({ base64: _, ...message }: T): T {
  return { ...message, body: TOOL_MASK } as unknown as T;
}

/** As it stands within a JSON text. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function* cleanBody(
  { base64, truncated }: BodyRecord,
  body: string,
  secrets: readonly string[],
): Generator<void, string> {
  const text = base64 ? Buffer.from(body, 'base64').toString('latin1') : body;
  const clean = yield* maskedInSteps(text, secrets);
  const cut = truncated === undefined ? clean : withoutBegun(clean, secrets);
  if (cut === text) return body;
  return base64 ? Buffer.from(cut, 'latin1').toString('base64') : cut;
}
