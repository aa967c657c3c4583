// Images of an answer, which the chat form has as `images` (OpenRouter, Gemini): OpenAI's members have no place for them.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../json-object.ts';

const DATA = /^data:[^,]{1,200};base64,/;

/** The addresses of the images in a message's or a piece's further members. */
export function imagesIn(extra: JsonObject | undefined): string[] {
  if (!Array.isArray(extra?.images)) return [];
  return arrayOf(extra.images)
    .filter(isObject)
    .flatMap((image) => textOf(objectOf(image.image_url)?.url) ?? []);
}

/** What stands for an image where a form has only texts: its address, or that there was one. */
export function imageText(url: string): string {
  return DATA.test(url) ? '[an image, which this form cannot carry]' : `![image](${url})`;
}

/** The image's bytes as base64, where its address has them. */
export function imageBytes(url: string): string | undefined {
  return DATA.test(url) ? url.slice(url.indexOf(',') + 1) : undefined;
}
