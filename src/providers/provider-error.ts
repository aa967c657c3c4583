// Error bodies of any provider, read the same way whatever the dialect: many speak
// OpenAI's `{"error": {...}}`, some a bare `{"message"}` or `{"detail"}`, some HTML.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { ProviderError } from './dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from './json-object.ts';

/** Most characters of a provider's message that are passed on. */
const MAX_MESSAGE = 500;

/** Reads an error body of any content; never throws, and never passes on more than 500 characters. */
export function readErrorBody(status: number, body: Uint8Array): ProviderError {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, 65_536)).toString('utf8');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { message: plainMessage(status, text) };
  }
  const top = Array.isArray(json) ? json[0] : json;
  if (!isObject(top)) return { message: plainMessage(status, typeof top === 'string' ? top : '') };
  return readErrorObject(top) ?? { message: plainMessage(status, '') };
}

/**
 * The error that an object of JSON speaks of: in its `error` member, or in itself
 * (`message`, `detail`). Undefined when it speaks of none.
 */
export function readErrorObject(top: JsonObject): ProviderError | undefined {
  const nested = objectOf(top.error);
  const source = nested ?? top;
  const message =
    messageOf(source.message) ??
    messageOf(top.error) ??
    messageOf(top.message) ??
    messageOf(top.detail) ??
    messageOf(source.msg) ??
    textOf(top.error_message) ??
    textOf(source.reason) ??
    textOf(top.error_description) ??
    messageOf(top.errors);
  const type = textOf(source.type);
  const named = source.code ?? source.error_code;
  const code = typeof named === 'number' ? String(named) : textOf(named);
  const param = textOf(source.param);
  if (message === undefined && (nested === undefined || (type === undefined && code === undefined))) {
    return nested === undefined ? undefined : { message: clip(JSON.stringify(nested)) };
  }
  return {
    message: clip(message ?? type ?? code ?? ''),
    ...(type === undefined ? {} : { type }),
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  };
}

/** The HTTP status that an error object names, where it names a plausible one. */
export function statusIn(top: JsonObject): number | undefined {
  const error = objectOf(top.error) ?? top;
  for (const value of [error.status, error.status_code, error.http_status, error.code]) {
    const status = typeof value === 'string' && /^[45]\d\d$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) {
      return status;
    }
  }
  return undefined;
}

/** Text, or the first words of a list of violations (FastAPI's `detail: [{msg}]`). */
function messageOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return textOf(value);
  const violations = arrayOf(Array.isArray(value) ? value : objectOf(value)?.detail);
  const words = violations
    .map((v) => (isObject(v) ? (textOf(v.msg) ?? textOf(v.message)) : textOf(v)))
    .filter(Boolean);
  return words.length > 0 ? words.join('; ') : undefined;
}

function plainMessage(status: number, text: string): string {
  const plain = /^\s*</.test(text) ? (/<title[^>]*>([^<]{1,200})/i.exec(text)?.[1] ?? '') : text;
  const words = clip(plain.replace(/\s+/g, ' ').trim());
  return words === '' ? `the provider answered with status ${status}` : words;
}

/** Control characters have no place in a message, and length none in a log line. */
export function clip(text: string): string {
  const clean = text.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return clean.length <= MAX_MESSAGE ? clean : `${clean.slice(0, MAX_MESSAGE - 3)}...`;
}
