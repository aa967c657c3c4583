// Bodies as JSON, where they are JSON.
import { create, type JsonObject } from '@bufbuild/protobuf';
import { type LogJson, LogJsonSchema } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { loggedJson } from '../../ledger/logged-json.ts';
import type { BodyRecord } from '../../store/log-store.ts';
import { defined } from '../kit/patch.ts';

/** A body as messages show it: an object, a list of objects, or else its text; undefined when there is none. */
export function bodyJson({ body, base64, truncated }: BodyRecord): LogJson | undefined {
  if (body === undefined) return undefined;
  const json = base64 || truncated !== undefined ? undefined : loggedJson(body);
  if (isObject(json)) return create(LogJsonSchema, { value: { case: 'object', value: json } });
  if (Array.isArray(json) && json.length > 0 && json.every(isObject))
    return create(LogJsonSchema, { value: { case: 'list', value: { values: json } } });
  return create(LogJsonSchema, { value: { case: 'text', value: body } });
}

/** A JSON value of a request, as it came. */
export function jsonOf(given: LogJson | undefined): JsonObject | readonly JsonObject[] | string | undefined {
  const { value } = given ?? {};
  switch (value?.case) {
    case 'object':
    case 'text':
      return value.value;
    case 'list':
      return value.value.values;
    default:
      return undefined;
  }
}

/** A wire message with its body; undefined when it was not stored. */
export function wireMessage(record: BodyRecord | undefined) {
  if (record === undefined) return undefined;
  const { url, method, status, headers = {}, truncated } = record;
  return {
    ...defined({ url, method, status, truncated: count(truncated), body: bodyJson(record) }),
    headers: { ...headers },
  };
}

export function count(bytes: number | undefined): bigint | undefined {
  return bytes === undefined ? undefined : BigInt(bytes);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
