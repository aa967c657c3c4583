// What is taken of a secret's text.
import type { Json } from '../store/collection.ts';
import { secretFailure } from './failure.ts';
import { MOST_SECRET_BYTES } from './manager.ts';

/** The member of a secret whose text is a JSON object, or the whole text without a key; texts as they are, the rest as JSON. */
export function memberOf(text: string, key: string | undefined): string {
  if (key === undefined) return bounded(text);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw secretFailure('missing', 'the secret is no JSON object: it has no members');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw secretFailure('missing', 'the secret is no JSON object: it has no members');
  const value = Object.hasOwn(json, key) ? (json as Readonly<Record<string, unknown>>)[key] : undefined;
  if (value === undefined || value === null || value === '')
    throw secretFailure('missing', 'the secret has no such member');
  return bounded(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A value as it is put in its place. @throws GatewayError secret_unavailable for JSON that is none */
export function formatted(text: string, format: 'string' | 'json' | undefined): Json {
  if (format !== 'json') return text;
  try {
    return JSON.parse(text);
  } catch {
    throw secretFailure('invalid', 'the secret is no JSON');
  }
}

function bounded(text: string): string {
  if (text === '') throw secretFailure('missing', 'the secret is empty');
  if (Buffer.byteLength(text) > MOST_SECRET_BYTES)
    throw secretFailure('invalid', `the secret has more than ${MOST_SECRET_BYTES} bytes`);
  return text;
}
