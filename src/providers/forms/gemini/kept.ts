// What other wires prove their thoughts with, kept in the signature of a part until the client sends it back. Google's
// clients hold signatures as bytes, so that one is Base64.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject } from '../../json-object.ts';

const PREFIX = 'sluice.';

/** How a signature of ours begins in Base64. */
export const MARK = Buffer.from(PREFIX).toString('base64').slice(0, 8);

/** The signature that holds thinking blocks of another wire. */
export function keptSignature(blocks: readonly JsonObject[]): string {
  return Buffer.from(PREFIX + JSON.stringify(blocks)).toString('base64');
}

/** The blocks of a signature that was made here; undefined for one of Google's own. */
export function keptIn(signature: string): JsonObject[] | undefined {
  if (!signature.startsWith(MARK)) return undefined;
  const text = Buffer.from(signature, 'base64').toString('utf8');
  if (!text.startsWith(PREFIX)) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(PREFIX.length));
    return Array.isArray(value) ? value.filter(isObject) : [];
  } catch {
    return [];
  }
}

/** The request's body without signatures that were made here: Google refuses those that are not its own. */
export function withoutKept(body: JsonObject): JsonObject {
  const { contents } = body;
  if (!Array.isArray(contents) || !contents.some(holdsKept)) return body;
  return {
    ...body,
    contents: contents.map((content) => {
      if (!isObject(content) || !Array.isArray(content.parts)) return content;
      return { ...content, parts: content.parts.filter(isObject).flatMap(withoutMark) };
    }),
  };
}

function holdsKept(content: unknown): boolean {
  if (!isObject(content) || !Array.isArray(content.parts)) return false;
  return content.parts.some((part) => isObject(part) && isKept(part));
}

function isKept({ thoughtSignature: signature }: JsonObject): boolean {
  return typeof signature === 'string' && keptIn(signature) !== undefined;
}

function withoutMark(part: JsonObject): JsonObject[] {
  if (!isKept(part)) return [part];
  const { thoughtSignature: _, ...rest } = part;
  return part.thought === true ? [] : [rest];
}
