// The images of services that answer with the bytes of one, or with JSON that holds them under one of a few names.
import type { JsonValue } from '@bufbuild/protobuf';
import type { TranslationContext } from '../dialect.ts';
import { readObject } from '../dialects/openai/response.ts';
import type { MadeImage } from '../images.ts';
import { isObject, textOf } from '../json-object.ts';
import { parseAnswer } from '../parse-answer.ts';

const BRACE = 0x7b;
const BRACKET = 0x5b;

/** All images of an answer. @throws GatewayError `upstream_garbage`, or the error inside a good status */
export function imageIn(body: Uint8Array, context: TranslationContext): readonly MadeImage[] {
  const first = body.find((byte) => byte > 0x20);
  if (first === BRACKET) {
    const list = parseAnswer(body, context.target.provider.id);
    return Array.isArray(list) ? list.flatMap((one) => made(one as JsonValue)) : [];
  }
  if (first !== BRACE) return body.length === 0 ? [] : [{ b64Json: base64Of(body) }];
  const answer = readObject(body, context);
  const inner = isObject(answer.result) ? answer.result : answer;
  for (const value of [inner.images, inner.data, inner.image, inner.base64, inner.artifacts]) {
    const images = Array.isArray(value) ? value.flatMap(made) : made(value);
    if (images.length > 0) return images;
  }
  return [];
}

function made(value: JsonValue | undefined): readonly MadeImage[] {
  if (typeof value === 'string' && value !== '')
    return [/^https?:\/\//.test(value) ? { url: value } : { b64Json: value.replace(/^data:[^,]*,/, '') }];
  if (!isObject(value)) return [];
  const b64Json = textOf(value.b64_json) ?? textOf(value.base64) ?? textOf(value.image);
  const url = textOf(value.url);
  return b64Json === undefined && url === undefined ? [] : [{ b64Json, url }];
}

function base64Of(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64');
}
