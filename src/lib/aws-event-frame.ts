// Writes frames of AWS's binary event stream (application/vnd.amazon.eventstream), as lib/aws-event-stream.ts reads them:
// lengths and their CRC-32, headers, the payload, and a CRC-32 of all before it.
import { crc32 } from 'node:zlib';

const PRELUDE = 12;
const CRC = 4;
/** A header's value is a text with a length of two bytes. */
const STRING = 7;

/** One frame. @param headers names and texts @param payload JSON text */
export function awsEventFrame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => headerOf(name, value)));
  const body = Buffer.from(payload);
  const frame = Buffer.alloc(PRELUDE + head.length + body.length + CRC);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(head.length, 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  head.copy(frame, PRELUDE);
  body.copy(frame, PRELUDE + head.length);
  const end = frame.length - CRC;
  frame.writeUInt32BE(crc32(frame.subarray(0, end)), end);
  return frame;
}

function headerOf(name: string, value: string): Buffer {
  const [key, text] = [Buffer.from(name), Buffer.from(value)];
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length);
  return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([STRING]), length, text]);
}
