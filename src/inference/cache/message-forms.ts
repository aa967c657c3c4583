// Answers as messages: kept as the JSON text that came with them, or as it is written from them.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { lazyMessage } from '../../lib/lazy-message.ts';
import { attachRawJson, rawJsonOf } from '../../lib/raw-json.ts';
import type { MessageJson } from '../../providers/dialect.ts';
import type { StreamForm, WholeForm } from './form.ts';

/** The form of a message that comes whole. What is given back has the text attached and is read when it is looked at. */
export function wholeMessages<D extends DescMessage>(
  json: MessageJson,
  schema: D,
): WholeForm<MessageShape<D>> {
  return {
    encode: (answer) => textOf(json, schema, answer),
    decode: (body) => attachRawJson(read(json, schema, body), body),
  };
}

/**
 * The form of messages that come in pieces.
 * @param usage see `StreamForm`
 * @param fromWhole the pieces of a kept whole answer
 */
export function streamedMessages<D extends DescMessage>(
  json: MessageJson,
  schema: D,
  usage: boolean,
  fromWhole?: (body: Uint8Array) => readonly MessageShape<D>[],
): StreamForm<MessageShape<D>> {
  return {
    encode: (chunk) => textOf(json, schema, chunk),
    decode: (bytes) => attachRawJson(read(json, schema, bytes), stringOf(bytes)),
    usage,
    ...(fromWhole && { fromWhole }),
  };
}

function textOf<D extends DescMessage>(json: MessageJson, schema: D, message: MessageShape<D>) {
  return rawJsonOf(message) ?? JSON.stringify(json.encode(schema, message));
}

function read<D extends DescMessage>(json: MessageJson, schema: D, bytes: Uint8Array): MessageShape<D> {
  return lazyMessage(schema, () => json.decode(schema, JSON.parse(stringOf(bytes))));
}

function stringOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
