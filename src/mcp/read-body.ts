// The body of a POST: one message.
import { isUtf8 } from 'node:buffer';
import { isTooDeep } from '../lib/json-depth.ts';
import { isFaithful } from '../rest/faithful-json.ts';
import { isTooHeavy } from '../rest/json-weight.ts';
import { type RpcMessage, readMessage } from './wire/json-rpc.ts';
import { McpError, RPC } from './wire/mcp-error.ts';

export interface ReadBody {
  readonly message: RpcMessage;
  /** The forwarded body: the original text, or the message serialised again when a member is duplicated. */
  readonly text: string;
}

/** @throws McpError -32700, -32600, or HTTP 413 */
export async function readBody(bytes: Uint8Array, most: number): Promise<ReadBody> {
  if (bytes.length > most || (await isTooHeavy(bytes)))
    throw new McpError(RPC.invalidRequest, `the message is too large: at most ${most} bytes`, {
      status: 413,
    });
  if (!isUtf8(bytes)) throw new McpError(RPC.parse, 'Parse error: the body must be UTF-8');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new McpError(RPC.parse, 'Parse error: the body must be JSON');
  }
  if (isTooDeep(json)) throw new McpError(RPC.invalidRequest, 'Invalid request: the message nests too deep');
  const message = readMessage(json);
  return { message, text: isFaithful(text) ? text : JSON.stringify(message) };
}
