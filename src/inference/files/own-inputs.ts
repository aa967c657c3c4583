// Files of the gateway that a model's request names: to a provider that has files they are uploaded once, for others they
// stand in the request as data.
import type { JsonObject } from '@bufbuild/protobuf';
import type { Call } from '../../call/call.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { isObject, textOf } from '../../providers/json-object.ts';
import type { OperationName } from '../../providers/operations.ts';
import { jsonOf, requestOf } from '../pipeline/rewrite.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { isOwnFile, OWN_FILE } from './collection.ts';
import { contentTypeOf } from './content-type.ts';
import type { OwnFiles } from './own-files.ts';
import { ownerOf } from './owner.ts';
import { fileNotFound, type ProviderCopies } from './provider-copies.ts';

/** Of all files of a request that stand in it as data, in bytes. */
const MAX_INLINE = 8 * 1024 * 1024;
const MAX_DEPTH = 32;
const FILE_MEMBERS: ReadonlySet<string> = new Set(['file_id', 'file_ids']);
const OPERATIONS: ReadonlySet<OperationName> = new Set<OperationName>(['chat', 'responses', 'messages']);

/** Finds and replaces them. */
export class OwnInputs {
  readonly #files: OwnFiles;
  readonly #copies: ProviderCopies;

  constructor(files: OwnFiles, copies: ProviderCopies) {
    this.#files = files;
    this.#copies = copies;
  }

  /** Whether a request may name one. */
  names(name: OperationName, request: object): boolean {
    if (!OPERATIONS.has(name)) return false;
    const raw = rawJsonOf(request);
    if (raw === undefined) return isNamed(request, 0);
    return typeof raw === 'string' ? raw.includes(OWN_FILE) : bufferOf(raw).includes(OWN_FILE);
  }

  /**
   * The request as the target can read it.
   * @throws GatewayError not_found for a file that the workspace does not have; validation_failed for what cannot be data
   */
  async resolved<Request extends object>(
    call: Call,
    bound: BoundTarget,
    name: OperationName,
    request: Request,
  ): Promise<Request> {
    const json = jsonOf(name, request) as JsonObject | undefined;
    if (json === undefined) return request;
    const changed = bound.target.provider.fileIds
      ? await this.#copies.replaced(call, bound, json)
      : await new Inlining(this.#files, call).read(json, '', 0);
    return changed === json ? request : requestOf<Request>(name, changed as object);
  }
}

/** A request whose files become data. */
class Inlining {
  readonly #files: OwnFiles;
  readonly #call: Call;
  #bytes = 0;

  constructor(files: OwnFiles, call: Call) {
    this.#files = files;
    this.#call = call;
  }

  async read(value: unknown, path: string, depth: number): Promise<unknown> {
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const [i, one] of value.entries()) items.push(await this.read(one, `${path}[${i}]`, depth + 1));
      return items;
    }
    const part = await this.#part(value as JsonObject, path);
    if (part !== undefined) return part;
    const members: Record<string, unknown> = {};
    for (const [member, one] of Object.entries(value)) {
      if (FILE_MEMBERS.has(member) && isNamed(one, 0))
        throw invalidField(
          path === '' ? member : `${path}.${member}`,
          'names a file of the gateway where this provider can read none',
        );
      members[member] = await this.read(one, path === '' ? member : `${path}.${member}`, depth + 1);
    }
    return members;
  }

  /** A part that is a file; undefined: it is something else. */
  async #part(part: JsonObject, path: string): Promise<JsonObject | undefined> {
    const { type, file, source } = part;
    if (type === 'file' && isObject(file) && names(file)) {
      const { file_id: id, ...rest } = file;
      const { filename, url } = await this.#data(String(id), `${path}.file.file_id`);
      return { ...part, file: { filename, ...rest, file_data: url } };
    }
    if ((type === 'input_file' || type === 'input_image') && names(part)) {
      const { file_id: id, ...rest } = part;
      const { filename, url } = await this.#data(String(id), `${path}.file_id`);
      return type === 'input_image' ? { ...rest, image_url: url } : { filename, ...rest, file_data: url };
    }
    if (isObject(source) && source.type === 'file' && names(source)) {
      const { contentType, bytes } = await this.#data(String(source.file_id), `${path}.source.file_id`);
      const data = contentType.startsWith('text/')
        ? { type: 'text', media_type: 'text/plain', data: bytes.toString('utf8') }
        : { type: 'base64', media_type: contentType, data: bytes.toString('base64') };
      return { ...part, source: data };
    }
    return undefined;
  }

  async #data(id: string, path: string) {
    const file = await this.#files.get(ownerOf(this.#call), id);
    if (file === undefined) throw fileNotFound(id);
    this.#bytes += file.body.bytes;
    if (this.#bytes > MAX_INLINE)
      throw fail(
        'body_too_large',
        `${path}: the files of a request may have ${MAX_INLINE} bytes together where the provider keeps none`,
        { param: path },
      );
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#files.read(file)) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const { filename } = file.body;
    const contentType = contentTypeOf(file.body);
    return { filename, contentType, bytes, url: `data:${contentType};base64,${bytes.toString('base64')}` };
  }
}

function names(part: JsonObject): boolean {
  return isOwnFile(textOf(part.file_id) ?? '');
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function isNamed(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return isOwnFile(value);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  for (const member in value) if (isNamed((value as Record<string, unknown>)[member], depth + 1)) return true;
  return false;
}
