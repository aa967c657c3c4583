// A file of the gateway that a provider must see is uploaded there once, when it is first used.
import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { UploadFileHeadSchema } from '../../../gen/gateway/inference/v2/files_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { has } from '../../providers/offered.ts';
import { FirstModel } from '../batches/first-model.ts';
import type { ProviderNotes } from '../batches/provider-notes.ts';
import { dialectOf } from '../pipeline/operation-of.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { isOwnFile } from './collection.ts';
import { formBody } from './form-body.ts';
import { sendForm } from './native.ts';
import type { OwnFile, OwnFiles } from './own-files.ts';
import { ownerOf } from './owner.ts';

/** Copies of own files at providers. */
export class ProviderCopies {
  readonly #pipeline: Pipeline;
  readonly #files: OwnFiles;
  readonly #notes: ProviderNotes;
  /** Copies under way, by file and provider. */
  readonly #flights = new Map<string, Promise<string>>();

  constructor(pipeline: Pipeline, files: OwnFiles, notes: ProviderNotes) {
    this.#pipeline = pipeline;
    this.#files = files;
    this.#notes = notes;
  }

  /**
   * A JSON value in which ids of own files are replaced by those of their copies at the target.
   * @throws GatewayError not_found for a file that this workspace does not have, the provider's refusal of a copy
   */
  async replaced<T>(call: Call, bound: BoundTarget, value: T): Promise<T> {
    const ids = new Set<string>();
    ownIds(value, ids, 0);
    if (ids.size === 0) return value;
    const names = new Map<string, string>();
    for (const id of ids) names.set(id, await this.#copy(call, bound, id));
    return renamed(value, names) as T;
  }

  async #copy(call: Call, bound: BoundTarget, id: string): Promise<string> {
    const owner = ownerOf(call);
    const file = await this.#files.get(owner, id);
    if (file === undefined) throw fileNotFound(id);
    const at = placeOfCopy(bound);
    const known = file.body.copies.find((copy) => copy.at === at);
    if (known !== undefined) return known.id;
    const flight = `${id} ${at}`;
    const under = this.#flights.get(flight);
    if (under !== undefined) return under;
    const made = this.#upload(call, bound, file)
      .then((there) => this.#files.noteCopy(owner, id, { at, id: there }))
      .finally(() => this.#flights.delete(flight));
    this.#flights.set(flight, made);
    return made;
  }

  async #upload(call: Call, bound: BoundTarget, file: OwnFile): Promise<string> {
    const { provider } = bound.target;
    if (!has(provider, dialectOf(this.#pipeline, bound.target), 'uploadFile'))
      throw fail(
        'operation_unsupported',
        `${provider.id} has no files: ${file.id} cannot be uploaded there`,
        {
          provider: provider.id,
        },
      );
    const { purpose, filename, contentType } = file.body;
    const head = create(UploadFileHeadSchema, { purpose });
    const first = new FirstModel();
    const form = formBody({
      before: { purpose },
      member: 'file',
      filename,
      contentType,
      bytes: first.hear(this.#files.read(file)),
      after: () => ({}),
    });
    const sending = { form, fault: () => undefined, aside: true };
    const answer = await sendForm(this.#pipeline, call, bound, 'uploadFile', head, sending);
    if (purpose === 'batch') await this.#notes.input(call, bound, answer.id, first.model);
    return answer.id;
  }
}

/** The account of a provider, as far as it is told by where it is and by its credential. */
function placeOfCopy({ target, stored }: BoundTarget): string {
  const { provider, apiKey, customHost, options } = target;
  const facts = JSON.stringify([provider.id, stored?.slug, customHost, apiKey, options]);
  return createHash('sha256').update(facts).digest('base64url');
}

/** @param member of the request that names it */
export function fileNotFound(id: string, member = 'file_id'): GatewayError {
  return fail('not_found', `${member}: there is no file ${id.slice(0, 100)} in this workspace`, {
    param: member,
  });
}

const MAX_DEPTH = 16;

function ownIds(value: unknown, ids: Set<string>, depth: number): void {
  if (typeof value === 'string') {
    if (isOwnFile(value)) ids.add(value);
  } else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH)
    for (const one of Object.values(value)) ownIds(one, ids, depth + 1);
}

function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return names.get(value) ?? value;
  if (Array.isArray(value)) return value.map((one) => renamed(one, names));
  // Messages keep their type, which is a property of theirs.
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, renamed(one, names)]));
}
