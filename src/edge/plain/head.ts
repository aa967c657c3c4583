// A request in the plain form that most calls have: one POST over HTTP/1.1 with a short body of a told length. What is not
// surely that is not judged here: node:http reads it, and refuses what has to be refused.

/** A request that was read. */
export interface PlainHead {
  readonly url: string;
  /** As node:http gives them: lower-case names, values without the white space around them. */
  readonly headers: Readonly<Record<string, string>>;
  /** As far as it is there. */
  readonly body: Buffer;
  readonly isWhole: boolean;
}

/** A line of a head that was read. */
interface Field {
  /** With its end. */
  readonly line: string;
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** The head before on the same connection: clients repeat most lines, and one that is the same is not read again. */
export class KnownHead {
  start = '';
  url = '';
  readonly fields: Field[] = [];
}

/** Lines that are known of a connection at the most, and characters of the head that each may be a part of. */
const MOST_KNOWN = 24;
const MOST_KNOWN_LENGTH = 2048;

/** Longer bodies are node:http's to read: they come in many pieces. */
export const MOST_PLAIN_BYTES = 65_536;

/** Characters of a request line besides its URL. */
const LINE_PARTS = 'POST  HTTP/1.1\r\n'.length;
const LINE = /POST (\/[\x21-\x7e]*) HTTP\/1\.1\r\n/y;
/**
 * Its name is narrower than a token of RFC 9110: neither `_` nor what is rarer. Its value begins where the white space ends
 * and nowhere else: a long run of white space before something odd would be tried at each of its places.
 */
const FIELD = /([A-Za-z0-9-]+):[ \t]*(?![ \t])([\t\x20-\x7e]*)\r\n/y;
const LENGTH = /^[0-9]{1,8}$/;
const END = Buffer.from('\r\n\r\n');
/** Far below what node:http takes: longer heads it refuses, and of more fields it leaves some out. */
const MAX_HEAD_BYTES = 32_768;
const MAX_FIELDS = 200;
/** Headers that change how a message is framed, answered or shown; and `origin`, which CORS looks at. */
const UNUSUAL = new Set([
  ...['transfer-encoding', 'expect', 'upgrade', 'te', 'trailer', 'proxy-connection', 'http2-settings'],
  ...['origin', 'set-cookie', 'content-encoding'],
]);
const SPACE = 0x20;
const TAB = 0x09;

/**
 * Undefined: the bytes are neither exactly one plain request nor the beginning of one, its head whole.
 * @param known lines of the head before on the connection; those of this one are kept there
 */
export function readPlain(bytes: Buffer, known?: KnownHead): PlainHead | undefined {
  const end = bytes.indexOf(END);
  if (end === -1 || end > MAX_HEAD_BYTES) return undefined;
  const text = bytes.toString('latin1', 0, end + 2);
  const lines = text.length <= MOST_KNOWN_LENGTH ? known : undefined;
  const url = readStart(text, lines);
  if (url === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (let at = LINE_PARTS + url.length, i = 0; at < text.length; i++) {
    let field = lines?.fields[i];
    if (field === undefined || !text.startsWith(field.line, at)) {
      field = readField(text, at);
      if (field === undefined || i >= MAX_FIELDS) return undefined;
      if (lines !== undefined && i < MOST_KNOWN) lines.fields[i] = field;
    }
    const { line, name, value } = field;
    // One that is repeated is joined, dropped or refused, each by its own rule.
    if (Object.hasOwn(headers, name)) return undefined;
    headers[name] = value;
    at += line.length;
  }
  const { host, connection } = headers;
  const told = headers['content-length'];
  if (host === undefined || told === undefined || !LENGTH.test(told)) return undefined;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  const body = bytes.subarray(end + END.length);
  const length = Number(told);
  if (body.length > length || length > MOST_PLAIN_BYTES) return undefined;
  return { url, headers, body, isWhole: body.length === length };
}

/** The URL of a request line. */
function readStart(text: string, known: KnownHead | undefined): string | undefined {
  if (known !== undefined && known.start !== '' && text.startsWith(known.start)) return known.url;
  LINE.lastIndex = 0;
  const url = LINE.exec(text)?.[1];
  if (url !== undefined && known !== undefined) {
    known.start = text.slice(0, LINE.lastIndex);
    known.url = url;
  }
  return url;
}

/** The line of a header that begins at a place; undefined: it is none, or one that is not plain. */
function readField(text: string, at: number): Field | undefined {
  FIELD.lastIndex = at;
  const field = FIELD.exec(text);
  if (field === null) return undefined;
  const name = field[1]!.toLowerCase();
  return UNUSUAL.has(name) ? undefined : { line: field[0], name, value: trimmed(field[2]!) };
}

function trimmed(value: string): string {
  const last = value.charCodeAt(value.length - 1);
  return last === SPACE || last === TAB ? value.trimEnd() : value;
}
