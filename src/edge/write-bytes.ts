// An answer of bytes (BinaryAnswer) onto the socket, as fast as the client takes it.
import type { ServerResponse } from 'node:http';
import type { BinaryAnswer, BinaryHead } from '../../gen/gateway/inference/v2/common_pb.ts';
import { urlText } from '../lib/url-text.ts';
import { drained, type Pairs } from './respond.ts';

/** Writes until the stream ends. One that breaks off ends the connection, so that clients see it. */
export async function writeBytes(
  res: ServerResponse,
  status: number,
  messages: AsyncIterable<BinaryAnswer>,
  headers: () => Pairs,
): Promise<void> {
  try {
    for await (const { kind } of messages) {
      if (kind.case === 'head') res.writeHead(status, headOf(kind.value, headers()));
      else if (kind.case === 'chunk' && !res.write(kind.value)) await drained(res);
    }
    res.end();
  } catch (error) {
    if (!res.headersSent) throw error;
    res.destroy();
  }
}

function headOf({ contentType, length, filename }: BinaryHead, own: Pairs): Record<string, string> {
  const out: Record<string, string> = {
    'content-type': contentType || 'application/octet-stream',
    // What callers have uploaded is never shown as a page of this origin.
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
  };
  if (length !== undefined) out['content-length'] = String(length);
  if (filename !== undefined)
    out['content-disposition'] =
      `attachment; filename*=UTF-8''${urlText(filename).replace(/['()*]/g, escaped)}`;
  for (const [name, value] of own) out[name] = value;
  return out;
}

function escaped(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16)}`;
}
