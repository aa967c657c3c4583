// A request that is passed through, as far as it is read: a JSON body up to the body limit is held, and its model found.
// So is a form whose model names a stored provider. Any other body goes on in pieces as they come.
import type { Header, RequestHead } from '../../../gen/gateway/inference/v2/proxy_pb.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import { decodedAside } from '../../lib/incoming/decode-aside.ts';
import { codingsOf } from '../../lib/incoming/decoded-length.ts';
import { Pieces } from '../../lib/incoming/pieces.ts';
import { type TopMember, TopMembers } from '../../lib/top-members.ts';
import { isFaithful } from '../../rest/faithful-json.ts';
import { isTooHeavy } from '../../rest/json-weight.ts';
import { arriving } from '../pipeline/arriving.ts';
import { type FormField, FormModel } from './form-model.ts';
import { type RawPath, readPath } from './forms.ts';

type Json = Readonly<Record<string, unknown>>;

/** Longest name of a model that is read, in bytes. */
const MAX_MODEL = 4096;

/** A request as it was read. */
export class RawRequest {
  readonly head: RequestHead;
  readonly path: RawPath;
  /** What is sent on: whole where it is held; undefined: there is none. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** The body as the provider decodes it, where it is held and is JSON. */
  readonly #plain: Buffer | undefined;
  /** It is JSON and longer than what is held: a model may stand in the part that was not read. */
  readonly cut: boolean;
  readonly #encoded: boolean;
  readonly #model: TopMember | undefined;
  /** A form's model, where it names a stored provider and the form is held. */
  readonly #field: FormField | undefined;
  #json: Promise<Json | undefined> | undefined;

  constructor(
    head: RequestHead,
    path: RawPath,
    body: RawRequest['body'],
    plain: Buffer | undefined,
    encoded: boolean,
    model: TopMember | undefined,
    cut = false,
    field?: FormField,
  ) {
    this.cut = cut;
    this.#field = field;
    this.head = head;
    this.path = path;
    this.body = body;
    this.#plain = plain;
    this.#encoded = encoded;
    this.#model = model;
  }

  get hasBody(): boolean {
    return this.body !== undefined;
  }

  /** The model of the JSON body; of a form, one that names a stored provider. */
  get bodyModel(): string | undefined {
    if (this.#field !== undefined) return this.#field.text;
    return this.#model?.bytes && textOf(this.#model.bytes);
  }

  /** The model that is asked for: the path's, else the body's. */
  get model(): string | undefined {
    return this.path.models[0] ?? this.bodyModel;
  }

  /** Whether its model can be replaced. */
  get canChangeModel(): boolean {
    return (
      (this.#plain !== undefined && this.#model !== undefined) ||
      (this.#field !== undefined && this.body instanceof Uint8Array)
    );
  }

  /**
   * The whole body; undefined where it is not held, is no JSON object, names a member twice, or is too heavy to read: a
   * provider might read it otherwise.
   */
  json(): Promise<Json | undefined> {
    this.#json ??= readJson(isOtherwise(headerOf(this.head, 'content-type')) ? undefined : this.#plain);
    return this.#json;
  }

  /** The body with another model; no other byte of it changes. */
  withModel(model: string): Changed {
    if (this.#field !== undefined)
      return this.#changed(withField(this.body as Uint8Array, this.#field, model));
    const [plain, member] = [this.#plain!, this.#model!];
    const bytes = [
      plain.subarray(0, member.start),
      Buffer.from(JSON.stringify(model)),
      plain.subarray(member.end),
    ];
    return this.#changed(Buffer.concat(bytes));
  }

  /** The request with another body. */
  withJson(json: object): Changed {
    return this.#changed(Buffer.from(JSON.stringify(json)));
  }

  #changed(body: Buffer): Changed {
    // A decoded body is sent as it is.
    const headers = this.#encoded
      ? this.head.headers.filter(({ name }) => name.toLowerCase() !== 'content-encoding')
      : this.head.headers;
    return { body, headers };
  }
}

function withField(form: Uint8Array, { start, end }: FormField, text: string): Buffer {
  return Buffer.concat([form.subarray(0, start), Buffer.from(text), form.subarray(end)]);
}

/** What is sent in the place of what came. */
export interface Changed {
  readonly body: Buffer;
  readonly headers: readonly Header[];
}

/**
 * Reads what must be known before a provider is chosen.
 * @param most bytes of a JSON body that are held, and to which it is decoded
 * @throws GatewayError malformed_body where the body names its model twice
 */
export async function readRawRequest(
  head: RequestHead,
  body: AsyncIterable<Uint8Array> | undefined,
  most: number,
  signal: AbortLike,
): Promise<RawRequest> {
  const path = readPath(head.method, head.path);
  if (body === undefined) return new RawRequest(head, path, undefined, undefined, false, undefined);
  const codings = codingsOf(headerOf(head, 'content-encoding'));
  const models: TopMember[] = [];
  const members = new TopMembers(
    (name) => name === 'model',
    MAX_MODEL,
    (member) => void models.push(member),
  );
  const form = codings.length > 0 ? undefined : FormModel.of(headerOf(head, 'content-type'));
  const input = body[Symbol.asyncIterator]();
  const pieces = new Pieces();
  let ended = false;
  try {
    while (pieces.bytes <= most) {
      const next = await arriving(input.next(), signal);
      if (next.done) {
        ended = true;
        break;
      }
      pieces.push(next.value);
      if (codings.length > 0) continue;
      members.push(next.value);
      if (members.isJson && !members.isList) continue;
      // What is JSON is read as JSON, whatever its type says.
      form?.push(next.value);
      if (form === undefined || (form.isDone && form.field === undefined)) break;
    }
  } catch (thrown) {
    // Not waited for: a piece that is under way may never come.
    input.return?.()?.catch(() => {});
    throw thrown;
  }
  const bytes = pieces.take();
  if (!ended) {
    const cut = codings.length === 0 && members.isJson && !members.isList;
    const rest = replayed(bytes, input);
    return new RawRequest(head, path, rest, undefined, false, once(models), cut, form?.field);
  }
  let plain: Buffer | undefined = bytes;
  if (codings.length > 0) {
    plain = await decodedAside(bytes, codings, most);
    if (plain !== undefined) members.push(plain);
  }
  const isJson = plain !== undefined && plain.length > 0 && members.isJson && !members.isList;
  const [isEncoded, model] = [codings.length > 0, once(models)];
  return new RawRequest(head, path, bytes, isJson ? plain : undefined, isEncoded, model, false, form?.field);
}

/** The body's model. Which of two counts differs between servers. @throws GatewayError malformed_body */
function once(models: readonly TopMember[]): TopMember | undefined {
  const [first, second] = models.filter(({ item }) => item === 0);
  if (second !== undefined)
    throw fail('malformed_body', 'model: is named twice; name it once', { param: 'model' });
  return first;
}

/** Whether the type says that the bytes are fields, as JSON's may be too, or letters other than UTF-8. */
function isOtherwise(type = ''): boolean {
  const [, set] = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type) ?? [];
  if (set !== undefined && !/^(?:utf-?8|us-ascii|ascii|iso-8859-1)$/i.test(set)) return true;
  return /^\s*application\/x-www-form-urlencoded/i.test(type);
}

async function readJson(plain: Buffer | undefined): Promise<Json | undefined> {
  if (plain === undefined || (await isTooHeavy(plain))) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plain);
    const json: unknown = JSON.parse(text);
    const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
    return isObject && isFaithful(text) ? (json as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** The text that a member's value is; undefined when it is none. */
function textOf(bytes: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

export function headerOf({ headers }: RequestHead, wanted: string): string | undefined {
  return headers.find(({ name }) => name.toLowerCase() === wanted)?.value;
}

async function* replayed(first: Buffer, input: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (first.length > 0) yield first;
    for (let next = await input.next(); !next.done; next = await input.next()) yield next.value;
  } finally {
    await input.return?.();
  }
}
