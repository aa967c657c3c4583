// The model of a multipart form that is passed through: a field of that name before the first file.
import { TextDecoder } from 'node:util';

/** Bytes that are looked through: fields are short. */
const MOST = 65_536;
const BOUNDARY = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
const NAME = /;\s*name=(?:"([^"]*)"|([^\s;"]+))/i;
const FILE = /;\s*filename\*?=/i;
const SLUG = /^@[^/]{1,255}\/./s;

/** Where the model's text stands. */
export interface FormField {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Looks through one form's beginning. */
export class FormModel {
  readonly #mark: Buffer;
  #seen = Buffer.alloc(0);
  #isDone = false;
  #field: FormField | undefined;

  /** Undefined: the body is no form. @param type of the content */
  static of(type: string | undefined): FormModel | undefined {
    const [, quoted, plain] = BOUNDARY.exec(type ?? '') ?? [];
    const boundary = quoted ?? plain;
    return boundary === undefined ? undefined : new FormModel(boundary);
  }

  constructor(boundary: string) {
    this.#mark = Buffer.from(`--${boundary}`);
  }

  /** Whether further bytes would tell more. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** A model that names a stored provider; undefined: none is known. */
  get field(): FormField | undefined {
    return this.#field;
  }

  push(bytes: Uint8Array): void {
    if (this.#isDone) return;
    this.#seen = Buffer.concat([this.#seen, bytes.subarray(0, MOST - this.#seen.length)]);
    const found = this.#find();
    this.#isDone = found !== 'more' || this.#seen.length >= MOST;
    if (typeof found === 'object' && SLUG.test(found.text)) this.#field = found;
  }

  #find(): FormField | 'more' | 'none' {
    const [seen, mark] = [this.#seen, this.#mark];
    for (let at = seen.indexOf(mark); at !== -1; ) {
      const from = at + mark.length;
      const over = seen.indexOf('\r\n\r\n', from);
      if (over === -1) return seen.toString('latin1', from, from + 2) === '--' ? 'none' : 'more';
      const head = seen.toString('latin1', from, over);
      if (FILE.test(head)) return 'none';
      const next = seen.indexOf(Buffer.concat([CRLF, mark]), over + 2);
      if (next === -1) return 'more';
      const [, quoted, plain] = NAME.exec(head) ?? [];
      if ((quoted ?? plain) === 'model') return fieldOf(seen, Math.min(over + 4, next), next);
      at = next + 2;
    }
    return 'more';
  }
}

const CRLF = Buffer.from('\r\n');

function fieldOf(seen: Buffer, start: number, end: number): FormField | 'none' {
  try {
    return { start, end, text: new TextDecoder('utf-8', { fatal: true }).decode(seen.subarray(start, end)) };
  } catch {
    return 'none';
  }
}
