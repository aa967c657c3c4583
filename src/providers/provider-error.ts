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
    json = JSON.parse(eventData(text) ?? text);
  } catch {
    return { message: plainMessage(status, text) };
  }
  const top = Array.isArray(json) ? json[0] : json;
  if (!isObject(top)) return { message: plainMessage(status, typeof top === 'string' ? top : '') };
  return readErrorObject(top) ?? { message: plainMessage(status, '') };
}

/**
 * The error that an object of JSON speaks of: in its `error` member (or a few others that services nest it in), or in
 * itself (`message`, `detail`). Undefined when it speaks of none.
 */
export function readErrorObject(top: JsonObject): ProviderError | undefined {
  const nested = objectOf(top.error);
  const source = objectOf(nested?.error) ?? nested ?? nestedElsewhere(top) ?? top;
  const message = wordsOf(source) ?? (source === top ? undefined : wordsOf(top));
  const [first] = arrayOf(source.errors).filter(isObject);
  const type = textOf(source.type) ?? textOf(source.error_type) ?? awsType(source) ?? nameOf(source);
  const named = source.code ?? source.error_code ?? source.ErrorCode ?? first?.code;
  const code = typeof named === 'number' ? String(named) : textOf(named);
  const param = textOf(source.param);
  if (message === undefined && (nested === undefined || (type === undefined && code === undefined))) {
    if (nested === undefined && awsType(source) === undefined) return undefined;
    if (nested !== undefined) return { message: clip(JSON.stringify(nested)) };
  }
  return {
    message: clip(message ?? type ?? code ?? ''),
    ...(type === undefined ? {} : { type }),
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  };
}

/** Errors that stand elsewhere than in `error`: FastAPI's `detail`, Apigee's `fault`, the `Output` of AWS's older services. */
function nestedElsewhere(top: JsonObject): JsonObject | undefined {
  if (textOf(top.message) !== undefined) return undefined;
  const detail = objectOf(top.detail);
  if (detail !== undefined && wordsOf(detail) !== undefined) return detail;
  return objectOf(top.fault) ?? objectOf(top.Output);
}

/** What an error says, under the names that services have for it, the most usual first. */
function wordsOf(error: JsonObject): string | undefined {
  return (
    messageOf(error.message) ??
    messageOf(error.error) ??
    messageOf(error.detail) ??
    messageOf(error.msg) ??
    textOf(error.Message) ??
    textOf(error.error_message) ??
    textOf(error.error_msg) ??
    textOf(error.reason) ??
    textOf(error.error_description) ??
    messageOf(error.errors) ??
    messageOf(error.issues) ??
    textOf(error.faultstring) ??
    textOf(objectOf(error.base_resp)?.status_msg) ??
    textOf(error.details) ??
    textOf(error.title) ??
    textOf(error.err)
  );
}

/** "com.amazon.coral.service#ValidationException" is a ValidationException. */
function awsType({ __type: type }: JsonObject): string | undefined {
  const named = textOf(type);
  return named?.slice(named.lastIndexOf('#') + 1);
}

/** Stability's `name`, e.g. "bad_request". */
function nameOf({ name }: JsonObject): string | undefined {
  const named = textOf(name);
  return named !== undefined && /^[a-z_]{1,64}$/.test(named) ? named : undefined;
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

/** The data of a body that is an event of a stream (services that refuse a stream in its own form). */
function eventData(text: string): string | undefined {
  return /^(?:(?:id|event|retry|):[^\n]*\n)*data:/.test(text) ? /^data:(.*)$/m.exec(text)?.[1] : undefined;
}

/** Text, the text of an object, or the words of a list of violations (FastAPI's `detail: [{msg}]`, others by member). */
function messageOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return textOf(value);
  if (isObject(value) && !Array.isArray(value.detail)) {
    const own = textOf(value.message) ?? textOf(value.text) ?? textOf(value.detail);
    if (own !== undefined) return own;
    const named = Object.entries(value).flatMap(([name, words]) => {
      const said = Array.isArray(words) ? messageOf(words) : undefined;
      return said === undefined ? [] : [`${name}: ${said}`];
    });
    return named.length > 0 ? named.join('; ') : undefined;
  }
  const violations = arrayOf(Array.isArray(value) ? value : objectOf(value)?.detail);
  const words = violations
    .map((v) => (isObject(v) ? (textOf(v.msg) ?? textOf(v.message)) : textOf(v)))
    .filter(Boolean);
  return words.length > 0 ? words.join('; ') : undefined;
}

function plainMessage(status: number, text: string): string {
  const plain = /^\s*</.test(text) ? (/<(?:title|h1)[^>]*>([^<]{1,200})/i.exec(text)?.[1] ?? '') : text;
  const words = clip(plain.replace(/\s+/g, ' ').trim());
  return words === '' ? `the provider answered with status ${status}` : words;
}

/** Control characters have no place in a message, and length none in a log line. */
export function clip(text: string): string {
  const clean = text.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return clean.length <= MAX_MESSAGE ? clean : `${clean.slice(0, MAX_MESSAGE - 3)}...`;
}
