// A piece of an answer as an OpenAI delta, for a chunk of a stream.
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { type ChatDeltaSchema, ContentBlockSchema } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson } from '../../dialect.ts';
import type { Piece } from './parts.ts';

export type Delta = MessageInitShape<typeof ChatDeltaSchema>;

/**
 * The delta of one piece; undefined when it says nothing to this caller. Signatures of thoughts are kept for strict
 * callers too: Gemini 3 refuses a conversation whose calls come back without them.
 */
export function deltaOf(json: MessageJson, piece: Piece, strict: boolean): Delta | undefined {
  switch (piece.kind) {
    case 'text':
      return {
        ...(piece.text === '' ? {} : { content: piece.text }),
        ...(piece.signature === undefined ? {} : { extra: signed(piece.signature) }),
      };
    case 'thought':
      if (strict) return undefined;
      return {
        reasoningContent: piece.text,
        ...(piece.signature === undefined ? {} : { extra: signed(piece.signature) }),
      };
    case 'call': {
      const { index, id, name, args, signature } = piece;
      const call = { index, id, type: 'function', function: { name, arguments: args } };
      return { toolCalls: [signature === undefined ? call : { ...call, extra: signed(signature) }] };
    }
    case 'media':
      return { extra: mediaMember(piece) };
    case 'own':
      return strict ? undefined : { contentBlocks: [json.decode(ContentBlockSchema, ownBlock(piece.part))] };
  }
}

/** Where Google's own OpenAI-compatible API carries the signature. */
export function signed(signature: string): JsonObject {
  return { extra_content: { google: { thought_signature: signature } } };
}

/** Images as `images`, the form that OpenAI-compatible services use for them; sound as OpenAI's `audio`. */
function mediaMember({ mimeType, data, signature }: Extract<Piece, { kind: 'media' }>): JsonObject {
  if (mimeType.startsWith('audio/')) return { audio: { data, format: mimeType.slice('audio/'.length) } };
  const image = { type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } };
  return { images: [signature === undefined ? image : { ...image, ...signed(signature) }] };
}

/** `{executableCode: {...}}` as `{type: "executable_code", ...}`. */
function ownBlock(part: JsonObject): JsonObject {
  const [name = 'part'] = Object.keys(part);
  const type = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { type, ...part };
}
