// Messages over gRPC and Connect that are cheap to send and expensive to decode, for the fuzzer of the event loop.
import { gzipSync } from 'node:zlib';
import type { DescMessage } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { enveloped, field, grpcStatus, repeated, varint } from '../support/wire.ts';
import { byConfig } from './caller.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { VALUES } from './nasty.ts';

export interface RpcAttack {
  readonly name: string;
  /** @returns the HTTP status, or 500 for the statuses of gRPC that say a fault of the gateway */
  send(gateway: GatewayProcess): Promise<number>;
}

const LARGE = 24 * 1024 * 1024;
const METHODS = [
  [ChatService.typeName, ChatService.method.createChatCompletion],
  [PromptsService.typeName, PromptsService.method.createPrompt],
] as const;
/** Unknown, internal and data loss. */
const FAULTS = ['2', '13', '15'];

/** Each in every protocol. @param bytes of the largest */
export function* rpcAttacks(host: string, bytes = LARGE): Generator<RpcAttack> {
  const headers = { 'x-gateway-api-key': WORKSPACE_KEY, ...byConfig(host, {}) };
  for (const [service, method] of METHODS) {
    const path = `/${service}/${method.name}`;
    for (const [name, body] of messages(method.input, bytes)) {
      yield grpc(`gRPC ${method.name}: ${name}`, path, enveloped(body), headers);
      yield grpc(`gRPC gzip ${method.name}: ${name}`, path, enveloped(gzipSync(body), true), {
        ...headers,
        'grpc-encoding': 'gzip',
      });
      yield connect(`Connect ${method.name}: ${name}`, path, body, 'application/proto', headers);
    }
    for (const [name, value] of Object.entries(VALUES))
      for (const size of [bytes, bytes / 64]) {
        const json = value(Math.floor(size));
        for (const text of [`{"model":"gpt-ok","messages":${json}}`, `{"extra":{"a":${json}}}`])
          yield connect(
            `Connect JSON ${method.name}: ${name}, ${text.length >> 10} KiB`,
            path,
            Buffer.from(text),
            'application/json',
            headers,
          );
      }
  }
}

/** Bodies in the binary format, each in a large size and one that is just light enough. */
function* messages(desc: DescMessage, most: number): Generator<readonly [string, Buffer]> {
  const struct = desc.fields.find(({ message }) => message?.typeName === StructSchema.typeName)!;
  const list = desc.fields.find(({ fieldKind, message }) => fieldKind === 'list' && message) ?? struct;
  const text = desc.fields.find(({ scalar }) => scalar === 9)!;
  const key = field(StructSchema, 1, 'k');
  const value = (number: number, bytes: Uint8Array) =>
    field(
      StructSchema,
      struct.number,
      field(StructSchema, 1, Buffer.concat([key, field(desc, 2, field(desc, number, bytes))])),
    );
  for (const bytes of [most, most / 64, most / 250, most / 800].map(Math.floor)) {
    const size = `${bytes >> 10} KiB`;
    yield [`a text, ${size}`, field(desc, text.number, Buffer.alloc(bytes, 'x'))];
    yield [
      `a text of odd signs, ${size}`,
      field(desc, text.number, repeated(Buffer.from('\u0130\u{1F9D1}\u200d'), bytes)),
    ];
    yield [
      `a text deep inside of odd signs, ${size}`,
      field(desc, list.number, field(desc, 3, repeated(Buffer.from('\u0130\u{1F9D1}\u200d'), bytes))),
    ];
    yield [`submessages, ${size}`, repeated(field(desc, list.number), bytes)];
    yield [`unknown fields, ${size}`, repeated(Buffer.from([0xf8, 0x7f, 1]), bytes)];
    yield [`unknown groups, ${size}`, repeated(Buffer.from([0xfb, 0x7f, 0xfc, 0x7f]), bytes)];
    yield [`nulls in a list, ${size}`, value(6, repeated(field(desc, 1, Buffer.from([8, 0])), bytes))];
    yield [`objects in a list, ${size}`, value(6, repeated(field(desc, 1, field(desc, 5)), bytes))];
    yield [`members, ${size}`, field(desc, struct.number, members(bytes))];
    yield [
      `an object that is repeated, ${size}`,
      Buffer.concat([
        field(desc, struct.number, members(Math.floor(bytes / 2))),
        repeated(field(desc, struct.number), Math.floor(bytes / 2)),
      ]),
    ];
    yield [
      `a varint without an end, ${size}`,
      Buffer.concat([varint(text.number << 3), Buffer.alloc(bytes, 0x80)]),
    ];
  }
}

/** Members of a free-form object, each with a name of its own. */
function members(bytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let size = 0; size < bytes; size += parts.at(-1)!.length) {
    const name = field(StructSchema, 1, `k${parts.length}`);
    const one = Buffer.concat([name, field(StructSchema, 2, Buffer.from([0x20, 1]))]);
    parts.push(field(StructSchema, 1, one));
  }
  return Buffer.concat(parts);
}

function grpc(name: string, path: string, body: Buffer, headers: Record<string, string>): RpcAttack {
  return {
    name,
    send: async ({ origin }) =>
      FAULTS.includes((await grpcStatus(origin, path, body, headers)).status) ? 500 : 200,
  };
}

function connect(
  name: string,
  path: string,
  body: Buffer,
  type: string,
  headers: Record<string, string>,
): RpcAttack {
  return {
    name,
    async send({ origin }) {
      const answer = await fetch(`${origin}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': type },
        body: new Uint8Array(body),
        signal: AbortSignal.timeout(60_000),
      });
      await answer.arrayBuffer();
      return answer.status;
    },
  };
}
