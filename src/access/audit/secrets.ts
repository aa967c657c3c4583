// The second line of defence: services show no secrets, and what looks like one all the same is masked here.
import type { Json } from '../../store/collection.ts';

export const MASKED = '[masked]';

/** Words that, at the end of a field's name, make its value a secret. */
const SECRET_NAME =
  /(?:^|_)(?:secrets?|passwords?|passwd|passphrase|pass|pwd|tokens?|jwt|credentials?|authorization|cookie|signature|hash|pem|key|keys|service_account_json)(?:_(?:value|text|plain|previous|current|new|old))?$/;
/** Names that end so and are none. */
const NO_SECRET = /(?:^|_)(?:max_tokens|total_tokens|prompt_tokens|completion_tokens|allowed_keys)$/;
/** What a condition of a policy or a config names under `key`. */
const CONDITION_KEY =
  /^(?:(?:api|virtual)_key|model|provider|config|prompt|(?:workspace|user)(?:_id)?|metadata\.[\w.-]{1,32})$/;

/** Texts that are secrets wherever they stand: keys of this gateway and of known providers, tokens, headers, PEM. */
const SECRET_TEXT =
  /slk_[\w-]{8,}|\bsk-[\w-]{8,}|\bAKIA[0-9A-Z]{12,}|\beyJ[\w-]+(?:\.[\w-]+\.[\w-]*)?|\b(?:bearer|basic)\s+[\w.~+/=-]{8,}|-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)|\bgh[pousr]_\w{16,}|\bxox[abprs]-[\w-]{8,}|\bAIza[\w-]{20,}|:\/\/[^\s/:@]*:[^\s/@]+@/gi;

/** Whether a field of this name, in snake or camel case, holds a secret. */
export function isSecretName(name: string): boolean {
  const snake = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[-.\s]/g, '_')
    .toLowerCase();
  return SECRET_NAME.test(snake) && !NO_SECRET.test(snake);
}

/** A text without what looks like a secret in it. */
export function maskText(text: string): string {
  return text.replaceAll(SECRET_TEXT, (found) => {
    if (found.startsWith('://')) return `://${MASKED}@`;
    // The head of a token alone is none; it is matched all the same, so that each letter is read once.
    return found.startsWith('eyJ') && !found.includes('.') ? found : MASKED;
  });
}

/** A value without secrets: members with secret-looking names are masked whole, secrets within texts in place. */
export function maskSecrets(value: Json, name = ''): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (isSecretName(name) && !isHarmless(name, value)) return MASKED;
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map((item: Json) => maskSecrets(item));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskSecrets(item, key)]));
}

/** What may be shown of a token that somebody presented: its first and last two characters. */
export function maskToken(token: string): string {
  return token.length < 12 ? MASKED : `${token.slice(0, 2)}…${token.slice(-2)}`;
}

function isHarmless(name: string, value: Json): boolean {
  if (value === '' || (Array.isArray(value) && value.length === 0)) return true;
  return name === 'key' && typeof value === 'string' && CONDITION_KEY.test(value);
}
