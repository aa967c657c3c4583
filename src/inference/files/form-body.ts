// A multipart form to a provider, written while its file comes.
import { randomUUID } from 'node:crypto';
import type { FormPart, NamedFile } from '../media/form-parts.ts';

/** Members of a form by their names: texts, and objects and lists of them. */
export type FormMembers = Readonly<Record<string, unknown>>;

/** A form to be sent. */
export interface FormBody {
  readonly contentType: string;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** What a form is made of. */
export interface FormParts {
  readonly before: FormMembers;
  readonly member: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Called when the bytes have been read; what it throws ends the form before its end. */
  readonly after: () => FormMembers;
}

/** Writes the form. Nothing is read before its reader asks. */
export function formBody(parts: FormParts): FormBody {
  const boundary = `sluice-${randomUUID()}`;
  return { contentType: `multipart/form-data; boundary=${boundary}`, pieces: piecesOf(parts, boundary) };
}

async function* piecesOf(parts: FormParts, boundary: string): AsyncGenerator<Uint8Array> {
  const { before, member, filename, contentType, bytes, after } = parts;
  yield Buffer.from(texts(before, boundary) + fileHead({ name: member, filename, contentType }, boundary));
  yield* bytes;
  yield Buffer.from(`\r\n${texts(after(), boundary)}--${boundary}--\r\n`);
}

/** What a form of several files is made of. */
export interface FilesParts extends Pick<FormParts, 'before' | 'after'> {
  /** Where each file begins, and its bytes. */
  readonly parts: AsyncIterable<FormPart>;
}

/** Writes a form of one file or several. Nothing is read before its reader asks. */
export function filesBody(parts: FilesParts): FormBody {
  const boundary = `sluice-${randomUUID()}`;
  return { contentType: `multipart/form-data; boundary=${boundary}`, pieces: filePieces(parts, boundary) };
}

async function* filePieces(
  { before, parts, after }: FilesParts,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  let start = texts(before, boundary);
  for await (const part of parts) {
    if ('bytes' in part) yield part.bytes;
    else {
      yield Buffer.from(start + fileHead(part.file, boundary));
      start = '\r\n';
    }
  }
  yield Buffer.from(`\r\n${texts(after(), boundary)}--${boundary}--\r\n`);
}

function fileHead({ name, filename, contentType }: NamedFile, boundary: string): string {
  return `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"; filename="${quoted(filename)}"\r\ncontent-type: ${contentType}\r\n\r\n`;
}

function texts(members: FormMembers, boundary: string): string {
  return flat(members)
    .map(
      ([name, value]) =>
        `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`,
    )
    .join('');
}

function flat(value: unknown, name = ''): [string, string][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one) => flat(one, `${name}[]`));
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, one]) => flat(one, name === '' ? key : `${name}[${key}]`));
}

/** As browsers write names (WHATWG, "multipart/form-data encoding algorithm"). */
function quoted(text: string): string {
  return text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22');
}
