// Members of a JSON object, or of each object of a list or of lines of JSON, found in bytes as they come: in bounded
// memory, however long the text is and however it is cut. Nothing else of the text is read, so that it may be no valid
// JSON further in.

/** A member at the top. */
export interface TopMember {
  readonly name: string;
  /** The value's first byte, and the byte after its last, from the start of the text. */
  readonly start: number;
  readonly end: number;
  /** The value as it stands; undefined: it is longer than what is kept. */
  readonly bytes: Buffer | undefined;
  /** Which object of a list, or of several lines, it is of; 0 where the text is one object. */
  readonly item: number;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
/** Bytes of a member's name that are read; longer names are no member that is looked for. */
const MAX_NAME = 1024;

type State = 'root' | 'item' | 'name' | 'colon' | 'value' | 'within' | 'after' | 'done' | 'broken';

/** Reads one text. */
export class TopMembers {
  readonly #wanted: (name: string) => boolean;
  readonly #most: number;
  readonly #found: (member: TopMember) => void;
  #state: State = 'root';
  #list = false;
  #item = 0;
  /** Bytes before the piece that is read. */
  #before = 0;
  /** Of the value that is passed: open brackets, and whether a string is open. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  #name = '';
  #isWanted = false;
  #start = 0;
  /** Of the name or value that is kept: earlier pieces, and where it begins in the present one; -1: nothing is kept. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #from = -1;
  #tooLong = false;

  /**
   * @param wanted which members are told of @param most bytes of a value that are kept
   * @param found told of each, in order, repeated ones each time
   */
  constructor(wanted: (name: string) => boolean, most: number, found: (member: TopMember) => void) {
    this.#wanted = wanted;
    this.#most = most;
    this.#found = found;
  }

  /** Whether the text may be JSON with members so far: an object, or a list. */
  get isJson(): boolean {
    return this.#state !== 'broken';
  }

  /** Whether it is a list. */
  get isList(): boolean {
    return this.#list;
  }

  /** The next bytes. */
  push(piece: Uint8Array): void {
    const bytes = Buffer.isBuffer(piece)
      ? piece
      : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    for (let i = 0; i < bytes.length; ) i = this.#step(bytes, i);
    if (this.#from !== -1) {
      this.#keep(bytes, bytes.length, this.#most);
      this.#from = 0;
    }
    this.#before += bytes.length;
  }

  /** Reads from `i`; returns where to go on. */
  #step(bytes: Buffer, i: number): number {
    const byte = bytes[i]!;
    switch (this.#state) {
      case 'root':
        if (isSpace(byte) || (this.#before + i < 3 && (byte === 0xef || byte === 0xbb || byte === 0xbf)))
          return i + 1;
        if (byte === OPEN_BRACKET && this.#item === 0) {
          this.#list = true;
          this.#state = 'item';
        } else this.#state = byte === OPEN_BRACE ? 'after' : 'broken';
        this.#depth = 0;
        return i + 1;
      case 'item':
        // Items that are no objects are passed over by their brackets alone.
        if (this.#depth === 0 && !this.#inString && byte === OPEN_BRACE) {
          this.#state = 'after';
          return i + 1;
        }
        return this.#passItem(bytes, i);
      case 'after':
        if (byte === QUOTE) {
          this.#state = 'name';
          this.#begin(i + 1);
        } else if (byte === CLOSE_BRACE) {
          this.#state = this.#list ? 'item' : 'root';
          this.#item++;
        } else if (byte !== COMMA && !isSpace(byte)) this.#state = 'broken';
        return i + 1;
      case 'name':
        return this.#readName(bytes, i);
      case 'colon':
        if (byte === COLON) this.#state = 'value';
        else if (!isSpace(byte)) this.#state = 'broken';
        return i + 1;
      case 'value':
        if (isSpace(byte)) return i + 1;
        this.#state = 'within';
        this.#depth = 0;
        this.#start = this.#before + i;
        if (this.#isWanted) this.#begin(i);
        return i;
      case 'within':
        return this.#readValue(bytes, i);
      default:
        return bytes.length;
    }
  }

  #passItem(bytes: Buffer, i: number): number {
    if (this.#inString) return this.#inText(bytes, i);
    const byte = bytes[i]!;
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) this.#depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      if (this.#depth === 0) this.#state = 'done';
      else this.#depth--;
    }
    return i + 1;
  }

  #readName(bytes: Buffer, i: number): number {
    this.#inString = true;
    const next = this.#inText(bytes, i);
    if (this.#inString) return next;
    const raw = this.#end(bytes, next - 1, MAX_NAME);
    this.#name = raw === undefined ? '' : nameOf(raw);
    this.#isWanted = raw !== undefined && this.#wanted(this.#name);
    this.#state = 'colon';
    return next;
  }

  #readValue(bytes: Buffer, i: number): number {
    if (this.#inString) {
      const next = this.#inText(bytes, i);
      if (!this.#inString && this.#depth === 0) this.#tell(bytes, next);
      return next;
    }
    const byte = bytes[i]!;
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (this.#depth === 0) {
        // A number or word ends where its object does.
        this.#tell(bytes, i);
        return i;
      }
      this.#depth--;
      if (this.#depth === 0) this.#tell(bytes, i + 1);
    } else if (this.#depth === 0 && (byte === COMMA || isSpace(byte))) {
      this.#tell(bytes, i);
      return i;
    }
    return i + 1;
  }

  /** Up to the end of a string, at the engine's speed. */
  #inText(bytes: Buffer, from: number): number {
    let i = from;
    if (this.#escaped) {
      this.#escaped = false;
      i++;
    }
    for (;;) {
      const quote = bytes.indexOf(QUOTE, i);
      const until = quote === -1 ? bytes.length : quote;
      const slash = bytes.subarray(i, until).indexOf(BACKSLASH);
      if (slash === -1) {
        if (quote === -1) return bytes.length;
        this.#inString = false;
        return quote + 1;
      }
      i = i + slash + 2;
      if (i > bytes.length) {
        this.#escaped = true;
        return bytes.length;
      }
    }
  }

  #tell(bytes: Buffer, end: number): void {
    this.#state = 'after';
    if (!this.#isWanted) return;
    this.#isWanted = false;
    const value = this.#end(bytes, end, this.#most);
    this.#found({
      name: this.#name,
      start: this.#start,
      end: this.#before + end,
      bytes: value,
      item: this.#item,
    });
  }

  #begin(at: number): void {
    this.#from = at;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#tooLong = false;
  }

  #keep(bytes: Buffer, end: number, most: number): void {
    const piece = bytes.subarray(Math.min(this.#from, end), end);
    this.#keptBytes += piece.length;
    if (this.#keptBytes > most) {
      this.#tooLong = true;
      this.#kept = [];
    } else if (!this.#tooLong) this.#kept.push(Buffer.from(piece));
  }

  /** What was kept up to `end`; undefined when it is too long. */
  #end(bytes: Buffer, end: number, most: number): Buffer | undefined {
    this.#keep(bytes, end, most);
    this.#from = -1;
    const whole = this.#tooLong ? undefined : Buffer.concat(this.#kept);
    this.#kept = [];
    return whole;
  }
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

/** A name as JSON reads it: letters may be written as escapes. */
function nameOf(raw: Buffer): string {
  const text = raw.toString('utf8');
  if (!text.includes('\\')) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return '';
  }
}
