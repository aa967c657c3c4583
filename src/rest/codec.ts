// The JSON codec of the REST surface: messages in the specification's own JSON
// (protobuf's JSON mapping writes camelCase, 64-bit numbers as strings and drops what it does not know).
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf';
import { decodeLenient, decodeStrict } from './decode.ts';
import { encode } from './encode.ts';

/** JSON <-> messages, in the two directions and for the two kinds of senders. */
export interface Codec {
  /** Reads a caller's JSON. @throws GatewayError validation_failed with every violation and its path. */
  decodeRequest<D extends DescMessage>(desc: D, json: unknown): MessageShape<D>;
  /** Reads a provider's JSON; what does not fit is kept in `extra`. @throws GatewayError upstream_garbage when it is no object. */
  decode<D extends DescMessage>(desc: D, json: unknown): MessageShape<D>;
  /** The message as a plain JSON value. */
  encode(desc: DescMessage, message: Message): unknown;
}

export const codec: Codec = {
  decodeRequest: <D extends DescMessage>(desc: D, json: unknown) =>
    decodeStrict(desc, json) as MessageShape<D>,
  decode: <D extends DescMessage>(desc: D, json: unknown) => decodeLenient(desc, json) as MessageShape<D>,
  encode,
};
