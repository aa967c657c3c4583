// A provider with files, uploads, batches, fine-tuning jobs and vector stores in OpenAI's form. It keeps a file only when
// its form has come to its end, and tells how many bytes it has read so far.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { readForm } from '../../src/edge/read-form.ts';

export interface KeptFile {
  readonly id: string;
  readonly filename: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly bytes: number;
  /** Undefined where it is longer than 1 MiB. */
  readonly content: Buffer | undefined;
}

export interface FilesProvider {
  readonly origin: string;
  readonly files: Map<string, KeptFile>;
  /** Verb and path of each request. */
  readonly seen: string[];
  readonly bodies: unknown[];
  /** Bytes of files that were read, also of those that were not kept. */
  read: number;
  /** Answers to further paths. */
  answer: ((verb: string, path: string, body: unknown) => unknown) | undefined;
  close(): Promise<void>;
}

const KEPT = 1024 * 1024;

/** @param sizes of files that it has from the beginning: made of zeros while they are read */
export async function startFilesProvider(
  sizes: Readonly<Record<string, number>> = {},
): Promise<FilesProvider> {
  let count = 0;
  const provider: FilesProvider = {
    origin: '',
    files: new Map(),
    seen: [],
    bodies: [],
    read: 0,
    answer: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const fileOf = ({ id, filename, texts, bytes }: KeptFile) => ({
    id,
    object: 'file',
    bytes,
    created_at: 1_700_000_000,
    filename,
    purpose: texts.purpose ?? 'batch',
    own_member: { a: [1, null] },
  });
  const upload = async (req: http.IncomingMessage, prefix: string): Promise<KeptFile> => {
    const texts: Record<string, string> = {};
    let [filename, bytes] = ['', 0];
    const pieces: Uint8Array[] = [];
    for await (const member of readForm(req, req.headers['content-type'] ?? '')) {
      if (member.kind === 'text') texts[member.name] = member.value;
      else {
        ({ filename } = member);
        for await (const piece of member.bytes) {
          bytes += piece.length;
          provider.read += piece.length;
          if (bytes <= KEPT) pieces.push(piece);
        }
      }
    }
    const content = bytes <= KEPT ? Buffer.concat(pieces) : undefined;
    const kept = { id: `${prefix}-${++count}`, filename, texts, bytes, content };
    provider.files.set(kept.id, kept);
    return kept;
  };
  const server = http.createServer((req, res) => {
    const [path = ''] = (req.url ?? '').split('?');
    const verb = req.method ?? '';
    provider.seen.push(`${verb} ${req.url}`);
    const answer = (value: unknown, status = 200): void => {
      const text = JSON.stringify(value);
      res
        .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
        .end(text);
    };
    const none = (): void =>
      answer(
        { error: { message: `nothing at ${path}`, type: 'invalid_request_error', param: null, code: null } },
        404,
      );
    const run = async (): Promise<void> => {
      if (verb === 'POST' && path.endsWith('/files') && !path.includes('vector_stores'))
        return answer(fileOf(await upload(req, 'file')));
      if (verb === 'POST' && path.endsWith('/parts')) {
        const { id } = await upload(req, 'part');
        return answer({ id, object: 'upload.part', created_at: 1, upload_id: path.split('/').at(-2) });
      }
      const content = /\/files\/([^/]+)\/content$/.exec(path)?.[1];
      if (content !== undefined && sizes[content] !== undefined) return zeros(res, sizes[content]);
      const kept = provider.files.get(content ?? path.split('/').at(-1) ?? '');
      if (content !== undefined) {
        if (kept?.content === undefined) return none();
        res.writeHead(200, {
          'content-type': 'application/octet-stream',
          'content-length': kept.content.length,
          'content-disposition': `attachment; filename="${kept.filename}"`,
        });
        return void res.end(kept.content);
      }
      if (verb === 'GET' && path.endsWith('/files'))
        return answer({ object: 'list', data: [...provider.files.values()].map(fileOf), has_more: false });
      if (/\/files\/[^/]+$/.test(path) && !path.includes('vector_stores')) {
        if (kept === undefined) return none();
        if (verb === 'DELETE') {
          provider.files.delete(kept.id);
          return answer({ id: kept.id, object: 'file', deleted: true });
        }
        return answer(fileOf(kept));
      }
      const pieces: Uint8Array[] = [];
      for await (const piece of req) pieces.push(piece as Uint8Array);
      const text = Buffer.concat(pieces).toString();
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      provider.bodies.push(body);
      const other = provider.answer?.(verb, path, body);
      if (other === undefined) return none();
      answer(other);
    };
    run().catch(() => res.destroy());
    res.on('error', () => {});
    req.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(provider, { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** So many zeros, as fast as they are taken. */
async function zeros(res: http.ServerResponse, size: number): Promise<void> {
  res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
  const piece = Buffer.alloc(65_536);
  for (let left = size; left > 0 && !res.destroyed; left -= piece.length)
    if (!res.write(left < piece.length ? piece.subarray(0, left) : piece))
      await new Promise((resolve) => {
        res.once('drain', resolve);
        res.once('close', resolve);
      });
  res.end();
}
