// A request in the plain form that nearly all calls have: one POST over HTTP/1.1 that came whole in one piece. What is not
// surely that is not judged here: node:http reads it, and refuses what has to be refused.

/** A request that was read. */
export interface PlainHead {
  readonly url: string;
  /** As node:http gives them: lower-case names, values without the white space around them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const LINE = /POST (\/[\x21-\x7e]*) HTTP\/1\.1\r\n/y;
/** Narrower than a token of RFC 9110: neither `_` nor what is rarer. */
const FIELD = /([A-Za-z0-9-]+):[ \t]*([\t\x20-\x7e]*)\r\n/y;
const LENGTH = /^[0-9]{1,8}$/;
const END = Buffer.from('\r\n\r\n');
/** Headers that change how a message is framed, answered or shown; and `origin`, which CORS looks at. */
const UNUSUAL = new Set([
  ...['transfer-encoding', 'expect', 'upgrade', 'te', 'trailer', 'proxy-connection', 'http2-settings'],
  'origin',
]);
const SPACE = 0x20;
const TAB = 0x09;

/** Undefined: the bytes are not exactly one plain request. */
export function readPlain(bytes: Buffer): PlainHead | undefined {
  const end = bytes.indexOf(END);
  if (end === -1) return undefined;
  const text = bytes.toString('latin1', 0, end + 2);
  LINE.lastIndex = 0;
  const url = LINE.exec(text)?.[1];
  if (url === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (let at = LINE.lastIndex; at < text.length; at = FIELD.lastIndex) {
    FIELD.lastIndex = at;
    const field = FIELD.exec(text);
    if (field === null) return undefined;
    const name = field[1]!.toLowerCase();
    // One that is repeated is joined, dropped or refused, each after its own rule.
    if (UNUSUAL.has(name) || Object.hasOwn(headers, name)) return undefined;
    headers[name] = trimmed(field[2]!);
  }
  const { host, connection } = headers;
  const length = headers['content-length'];
  if (host === undefined || length === undefined || !LENGTH.test(length)) return undefined;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  const body = bytes.subarray(end + END.length);
  return body.length === Number(length) ? { url, headers, body } : undefined;
}

function trimmed(value: string): string {
  const last = value.charCodeAt(value.length - 1);
  return last === SPACE || last === TAB ? value.trimEnd() : value;
}
