// Server-sent events as frames that can be sent on: with their ids and retries, which resume a stream that broke off.
import { fail } from '../../lib/errors.ts';
import type { RpcRequest, RpcResponse } from './json-rpc.ts';

/** One event, or a block that sets the last id or the time to retry alone. */
export interface Frame {
  /** Undefined: the block has no data. */
  readonly data?: string;
  readonly event?: string;
  readonly id?: string;
  readonly retry?: string;
  /** The data, where it is the response that was waited for. */
  readonly response?: RpcResponse;
  /** The data, where it asks something of the client. */
  readonly request?: RpcRequest;
}

/** Reads one stream; lines may end in LF, CRLF or CR, and bytes may be cut anywhere. */
export class FrameReader {
  readonly #most: number;
  readonly #decoder = new TextDecoder('utf-8');
  #rest = '';
  /** What came after it without the end of a line: a long line is joined once. */
  #more: string[] = [];
  #moreLength = 0;
  #held = 0;
  #frame: { data?: string; event?: string; id?: string; retry?: string } = {};
  #isEmpty = true;

  /** @param most UTF-16 units of one event */
  constructor(most: number) {
    this.#most = most;
  }

  /** The frames that the bytes complete. @throws GatewayError upstream_garbage for an event over the bound */
  push(bytes: Uint8Array): Frame[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#held + this.#rest.length + this.#moreLength + text.length > this.#most)
      this.#bound(this.#joined() + text);
    if (!this.#rest.endsWith('\r') && !/[\r\n]/.test(text)) {
      this.#more.push(text);
      this.#moreLength += text.length;
      return [];
    }
    const whole = this.#joined() + text;
    this.#rest = '';
    const frames: Frame[] = [];
    let from = 0;
    // Looked for once each: a piece of many lines may have no second kind of line end.
    let lf = whole.indexOf('\n');
    let cr = whole.indexOf('\r');
    for (;;) {
      if (lf !== -1 && lf < from) lf = whole.indexOf('\n', from);
      if (cr !== -1 && cr < from) cr = whole.indexOf('\r', from);
      const end = lf === -1 ? cr : cr === -1 || lf < cr ? lf : cr;
      // A CR at the very end may be half of a CRLF.
      if (end === -1 || (whole.charCodeAt(end) === 13 && end + 1 === whole.length)) break;
      this.#line(whole.slice(from, end), frames);
      from = whole.charCodeAt(end) === 13 && whole.charCodeAt(end + 1) === 10 ? end + 2 : end + 1;
    }
    this.#rest = whole.slice(from);
    return frames;
  }

  /** What has no blank line after it at the end still counts when it has data. */
  end(): Frame[] {
    const frames: Frame[] = [];
    this.#rest = this.#joined();
    if (this.#rest !== '') this.#line(this.#rest.replace(/\r$/, ''), frames);
    this.#rest = '';
    if (!this.#isEmpty) this.#line('', frames);
    return frames;
  }

  /** What has no end of a line yet. */
  #joined(): string {
    const whole = this.#rest + this.#more.join('');
    this.#more = [];
    this.#moreLength = 0;
    this.#rest = whole;
    return whole;
  }

  #bound(whole: string): void {
    // Many short events may come in one piece: only what belongs to one event counts.
    const first = /\n\n|\r\r|\r\n\r\n/.exec(whole);
    if (first === null || this.#held + first.index > this.#most)
      throw fail('upstream_garbage', `the MCP server sent an event of over ${this.#most} characters`);
  }

  #line(line: string, frames: Frame[]): void {
    if (line === '') {
      if (!this.#isEmpty) frames.push(this.#frame);
      this.#frame = {};
      this.#isEmpty = true;
      this.#held = 0;
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
    this.#held += line.length;
    if (this.#held > this.#most)
      throw fail('upstream_garbage', `the MCP server sent an event of over ${this.#most} characters`);
    if (name === 'data') {
      const { data } = this.#frame;
      this.#frame.data = data === undefined ? value : `${data}\n${value}`;
    } else if (name === 'event') this.#frame.event = value;
    else if (name === 'id' && !value.includes('\0')) this.#frame.id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.#frame.retry = value;
    else return;
    this.#isEmpty = false;
  }
}

/** A frame as text. */
export function frameText({ data, event, id, retry }: Frame): string {
  let text = '';
  if (event !== undefined && event !== '') text += `event: ${oneLine(event)}\n`;
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  if (retry !== undefined) text += `retry: ${retry}\n`;
  if (data !== undefined) {
    if (!/[\r\n]/.test(data)) text += `data: ${data}\n`;
    else for (const line of data.split(/\r\n|\n|\r/)) text += `data: ${line}\n`;
  }
  return `${text}\n`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\0]/g, '');
}
