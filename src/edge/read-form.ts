// A multipart form (RFC 7578) as it comes: its members in their order, files in pieces. Nothing of a file is held.
import type { Readable } from 'node:stream';
import { fail, GatewayError } from '../lib/errors.ts';

/** A member of a form. */
export type FormMember =
  | { readonly kind: 'text'; readonly name: string; readonly value: string }
  | {
      readonly kind: 'file';
      readonly name: string;
      /** Without folders; empty where the form names none. */
      readonly filename: string;
      /** Lower case, without parameters. */
      readonly contentType: string;
      /** Its bytes as they come. The next member comes when they are read, or left. */
      readonly bytes: AsyncIterable<Uint8Array>;
    };

/** Of one text, in bytes. */
const MAX_TEXT = 1024 * 1024;
/** Of all texts, in UTF-16 units. */
const MAX_TEXTS = 4 * 1024 * 1024;
const MAX_MEMBERS = 256;
const MAX_FILES = 32;
const MAX_NAME = 256;
/** Of the head of one member, in bytes. */
const MAX_HEAD = 16 * 1024;
const FORM = /^multipart\/form-data\s*;/i;

/** Whether a body of that content type is a form. */
export function isForm(contentType: string | undefined): boolean {
  return contentType !== undefined && FORM.test(contentType);
}

/**
 * Reads a form while it comes: the body is read no faster than its members are. Ends when the form's end was seen.
 * @param contentType with the boundary
 * @throws GatewayError malformed_body for a form without its end, or with heads that cannot be read; body_too_large for
 * texts of more than 1 MiB (4 MiB together) or too many members; what the body throws
 */
export async function* readForm(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
): AsyncGenerator<FormMember, void, undefined> {
  const members = new Members(await parserOf(contentType), body);
  try {
    for (let next = await members.next(); next !== undefined; next = await members.next()) yield next;
  } finally {
    members.stop();
  }
}

type Parser = InstanceType<typeof import('@fastify/busboy').Busboy>;

async function parserOf(contentType: string): Promise<Parser> {
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        fieldSize: MAX_TEXT,
        fieldNameSize: MAX_NAME,
        fields: MAX_MEMBERS,
        files: MAX_FILES,
        parts: MAX_MEMBERS,
        headerPairs: 32,
        headerSize: MAX_HEAD,
      },
    });
  } catch (cause) {
    throw fail('malformed_body', 'content-type: a form must name its boundary', {
      param: 'content-type',
      cause,
    });
  }
}

/** What the parser has found, in its order. The body is fed to it while the reader waits for more. */
class Members {
  readonly #parser: Parser;
  readonly #body: AsyncIterator<Uint8Array>;
  readonly #found: { readonly member: FormMember; readonly file?: Readable }[] = [];
  /** Of the member that was given last. */
  #file: Readable | undefined;
  /** Those that are not read to their end. */
  readonly #files = new Set<Readable>();
  #error: Error | undefined;
  #over = false;
  #texts = 0;
  #wake: (() => void) | undefined;

  constructor(parser: Parser, body: AsyncIterable<Uint8Array>) {
    this.#parser = parser;
    this.#body = body[Symbol.asyncIterator]();
    parser.on('field', (name: string | undefined, value: string, _cut: boolean, tooLong: boolean) => {
      this.#texts += value.length;
      if (tooLong || this.#texts > MAX_TEXTS) this.#fail(tooLarge(`${name ?? ''}: a text of a form`));
      else this.#add({ kind: 'text', name: checkedName(name), value });
    });
    parser.on('file', (name, file, filename, _encoding, contentType) => {
      // Without a listener an error that comes before the file is read would end the process.
      file.on('error', () => {});
      const bytes = this.#bytesOf(file);
      this.#files.add(file.once('close', () => this.#files.delete(file)));
      this.#add(
        { kind: 'file', name: checkedName(name), filename: filename ?? '', contentType, bytes },
        file,
      );
    });
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      parser.on(event, () => this.#fail(tooLarge('a form with that many members')));
    parser.on('error', (error: unknown) => this.#fail(malformed(error)));
    parser.on('finish', () => {
      this.#over = true;
      this.#wake?.();
    });
    void this.#feed();
  }

  /** Undefined after the last. */
  async next(): Promise<FormMember | undefined> {
    // A file that was left unread is passed over.
    this.#file?.resume();
    this.#file = undefined;
    for (;;) {
      if (this.#error) throw this.#error;
      const next = this.#found.shift();
      if (next !== undefined) {
        this.#file = next.file;
        return next.member;
      }
      if (this.#over) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  stop(): void {
    if (!this.#over) void this.#body.return?.();
    this.#over = true;
    for (const file of this.#files) file.destroy();
    this.#parser.removeAllListeners('error').on('error', () => {});
    this.#parser.destroy();
  }

  #add(member: FormMember, file?: Readable): void {
    this.#found.push(file === undefined ? { member } : { member, file });
    this.#wake?.();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
    for (const file of this.#files) file.destroy(this.#error);
  }

  async *#bytesOf(file: Readable): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of file) yield piece as Uint8Array;
    } catch (error) {
      throw this.#error ?? malformed(error);
    }
    if (this.#error) throw this.#error;
  }

  /** The parser takes more when what it found of a file is read. */
  async #feed(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#body.next();
        if (done || this.#over || this.#error) break;
        await new Promise<void>((resolve) => {
          this.#parser.once('close', resolve);
          this.#parser.write(value, () => {
            this.#parser.off('close', resolve);
            resolve();
          });
        });
      }
      if (!this.#over && !this.#error) this.#parser.end();
    } catch (error) {
      this.#fail(error as Error);
    }
  }
}

/** @throws nothing: a member without a name is one with an empty name, which no operation has */
function checkedName(name: string | undefined): string {
  return (name ?? '').slice(0, MAX_NAME);
}

function tooLarge(what: string): GatewayError {
  return fail(
    'body_too_large',
    `${what} is too long: texts may have 1 MiB each, and a form ${MAX_MEMBERS} members`,
  );
}

function malformed(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return fail(
    'malformed_body',
    'the form ends before its last boundary, or cannot be read: send it again, whole',
    {
      cause: error,
    },
  );
}
