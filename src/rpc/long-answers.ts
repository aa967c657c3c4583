// Long answers of gRPC, gRPC-Web and Connect, written in slices of the event loop: the library writes a message in one turn,
// which takes 300 ms for the versions of a large prompt. The library is given an empty message and its bytes are replaced.
import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  isMessage,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ListValueSchema, StructSchema, ValueSchema } from '@bufbuild/protobuf/wkt';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { isLongerThan, jsonPieces, weightOf } from '../lib/json-in-slices.ts';
import { nextSlice } from '../lib/time-slices.ts';
import { type CompressionName, compressedPieces, compressionNamed } from './compression.ts';

/** What the library writes in one turn, in characters and 16 for each value: about 10 ms. */
const LONG = 524_288;
/** What is written at once here: about a millisecond. */
const PIECE = 65_536;
/** The flag of a message's prefix. */
const COMPRESSED = 1;

/** Whether a message is too long to be written in one turn. */
export function isLongAnswer(message: Message): boolean {
  return isLongerThan(message, LONG);
}

/**
 * The bytes that an answer has in the place of the library's: a message, with its prefix where messages have one. Its
 * compression is the one that the library would choose, and its header is set.
 * @param request @param answer headers
 */
export async function longAnswer(
  desc: DescMessage,
  message: Message,
  request: Headers,
  answer: Headers,
): Promise<readonly Uint8Array[]> {
  const type = answer.get('content-type') ?? '';
  const plain = await (/json$/.test(type) ? protoJsonPieces : binaryPieces)(desc, message);
  const isEnveloped = type.startsWith('application/grpc');
  const compression = isEnveloped
    ? compressionNamed(answer.get('grpc-encoding') ?? '')
    : accepted(request.get('accept-encoding'));
  const pieces = compression === undefined ? plain : await compressedPieces(compression, plain);
  if (!isEnveloped) {
    if (compression !== undefined) answer.set('content-encoding', compression);
    return pieces;
  }
  const prefix = Buffer.alloc(5);
  prefix[0] = compression === undefined ? 0 : COMPRESSED;
  prefix.writeUInt32BE(lengthOf(pieces), 1);
  return [prefix, ...pieces];
}

/** The first that is known, as the library takes it. */
function accepted(names: string | null): CompressionName | undefined {
  for (const name of (names ?? '').split(',')) {
    const known = compressionNamed(name.trim());
    if (known !== undefined) return known;
  }
  return undefined;
}

/** The library's answer with other bytes in the place of its first, which are those of an empty message. */
export function withBytes(
  answer: UniversalServerResponse,
  pieces: readonly Uint8Array[],
): UniversalServerResponse {
  const { body, header = new Headers() } = answer;
  if (header.has('content-length')) header.set('content-length', String(lengthOf(pieces)));
  return { ...answer, header, body: replaced(body, pieces) };
}

async function* replaced(
  body: UniversalServerResponse['body'],
  pieces: readonly Uint8Array[],
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const bytes of body ?? []) {
    if (isFirst) yield* pieces;
    else yield bytes;
    isFirst = false;
  }
}

/** A message in Protobuf's binary format. */
export async function binaryPieces(desc: DescMessage, message: Message): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  await addMessage(pieces, desc, message);
  return joined(pieces);
}

/** Each piece is written to the connection by itself: short ones are joined. */
async function joined(pieces: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const long: Uint8Array[] = [];
  let short: Uint8Array[] = [];
  let length = 0;
  for (const piece of pieces) {
    short.push(piece);
    length += piece.length;
    if (length < PIECE) continue;
    await nextSlice();
    long.push(short.length === 1 ? piece : Buffer.concat(short));
    [short, length] = [[], 0];
  }
  long.push(Buffer.concat(short));
  return long;
}

/** A message in Protobuf's JSON format. */
export async function protoJsonPieces(desc: DescMessage, message: Message): Promise<Uint8Array[]> {
  return jsonPieces(await jsonOf(desc, message));
}

/** A field that is long and made of messages, and its values. */
interface LongField {
  readonly field: DescField & { readonly message: DescMessage };
  readonly values: readonly unknown[];
}

/** The fields that are written one by one, and a message with all others. */
function parted(desc: DescMessage, message: Message): { readonly long: LongField[]; readonly rest: Message } {
  const from = reflect(desc, message);
  const to = reflect(desc, create(desc));
  const long: LongField[] = [];
  for (const field of desc.fields) {
    if (!from.isSet(field)) continue;
    const value = memberOf(message, field);
    const isOfMessages =
      field.message !== undefined && field.fieldKind !== 'map' && isLongerThan(value, PIECE);
    if (isOfMessages)
      long.push({ field: field as LongField['field'], values: Array.isArray(value) ? value : [value] });
    else to.set(field, from.get(field));
  }
  return { long, rest: to.message };
}

/** The member as it is: reading it by reflection would turn a long Struct into messages at once. */
function memberOf(message: Message, field: DescField): unknown {
  const members = message as unknown as Readonly<Record<string, unknown>>;
  if (field.oneof === undefined) return members[field.localName];
  return (members[field.oneof.localName] as { readonly value?: unknown }).value;
}

async function addMessage(pieces: Uint8Array[], desc: DescMessage, message: Message): Promise<void> {
  await nextSlice();
  if (!isLongerThan(message, PIECE)) {
    pieces.push(toBinary(desc, message));
    return;
  }
  const { long, rest } = parted(desc, message);
  pieces.push(toBinary(desc, rest));
  for (const { field, values } of long)
    for (const value of values)
      await addField(pieces, field.number, (inner) => addValue(inner, field.message, value));
}

async function addValue(pieces: Uint8Array[], desc: DescMessage, value: unknown): Promise<void> {
  if (isMessage(value)) await addMessage(pieces, desc, value);
  else await addStruct(pieces, value as Readonly<Record<string, JsonValue>>);
}

async function addStruct(pieces: Uint8Array[], struct: Readonly<Record<string, JsonValue>>): Promise<void> {
  // Messages of the same type one after the other are one message with the fields of all.
  for (const members of groups(Object.entries(struct), ([, value]) => value)) {
    await nextSlice();
    const [[name, value]] = members;
    if (members.length > 1 || !isLongerThan(value, PIECE))
      pieces.push(toBinary(StructSchema, fromJson(StructSchema, Object.fromEntries(members))));
    else
      await addField(pieces, 1, async (entry) => {
        entry.push(new BinaryWriter().tag(1, WireType.LengthDelimited).string(name).finish());
        await addField(entry, 2, (inner) => addJson(inner, value));
      });
  }
}

/** A google.protobuf.Value. */
async function addJson(pieces: Uint8Array[], value: JsonValue): Promise<void> {
  if (typeof value !== 'object' || value === null) {
    pieces.push(toBinary(ValueSchema, fromJson(ValueSchema, value)));
    return;
  }
  if (!Array.isArray(value)) {
    await addField(pieces, 5, (inner) => addStruct(inner, value));
    return;
  }
  await addField(pieces, 6, async (list) => {
    for (const items of groups(value, (item) => item)) {
      await nextSlice();
      const [item] = items;
      if (items.length > 1 || !isLongerThan(item, PIECE))
        list.push(toBinary(ListValueSchema, fromJson(ListValueSchema, items)));
      else await addField(list, 1, (inner) => addJson(inner, item));
    }
  });
}

/** Items in their order, as many together as are written at once; a long one by itself. */
function* groups<T>(items: readonly T[], value: (item: T) => JsonValue): Generator<[T, ...T[]]> {
  let group: T[] = [];
  let left = PIECE;
  for (const item of items) {
    const weight = weightOf(value(item), PIECE);
    if (weight >= left && isFull(group)) {
      yield group;
      group = [];
      left = PIECE;
    }
    group.push(item);
    left -= weight;
  }
  if (isFull(group)) yield group;
}

function isFull<T>(group: T[]): group is [T, ...T[]] {
  return group.length > 0;
}

/** A field with its tag and length. */
async function addField(
  pieces: Uint8Array[],
  number: number,
  add: (inner: Uint8Array[]) => Promise<void>,
): Promise<void> {
  const inner: Uint8Array[] = [];
  await add(inner);
  const length = lengthOf(inner);
  const head = new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(length).finish();
  if (length < PIECE) pieces.push(Buffer.concat([head, ...inner]));
  else {
    pieces.push(head);
    for (const piece of inner) pieces.push(piece);
  }
}

async function jsonOf(desc: DescMessage, message: Message): Promise<JsonValue> {
  await nextSlice();
  if (!isLongerThan(message, PIECE)) return toJson(desc, message);
  const { long, rest } = parted(desc, message);
  const json = toJson(desc, rest) as Record<string, JsonValue>;
  for (const { field, values } of long) {
    const all: JsonValue[] = [];
    for (const value of values)
      all.push(isMessage(value) ? await jsonOf(field.message, value) : (value as JsonValue));
    json[field.jsonName] = field.fieldKind === 'list' ? all : all[0]!;
  }
  return json;
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
