// Responses that callers may go on from: those of providers that keep none are kept here whole, of the others only who
// made them. Sealed, per workspace, for a bounded time.
import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  type Decipheriv,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { JsonObject } from '@bufbuild/protobuf';
import type { KeptCaller } from '../../call/kept-caller.ts';
import { hasMoreTextThan, jsonInSlices } from '../../lib/json-in-slices.ts';
import { nextSlice, nextTurn } from '../../lib/time-slices.ts';
import { type KeptValues, MAX_KEPT_BYTES } from '../../store/kept-values.ts';
import type { Owner } from './run-records.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** So many bytes are sealed or opened in one go. */
const LONG = 1_048_576;
/** Between two sweeps, in milliseconds. */
const SWEEP_MS = 600_000;

/** Who made a response, and what is kept of it. */
export interface KeptResponse {
  readonly provider: string;
  /** Of the stored provider. */
  readonly slug?: string;
  readonly model: string;
  /** Absent: the provider keeps it. */
  readonly whole?: KeptWhole;
}

/** A response that the gateway keeps. */
export interface KeptWhole {
  /** All items that it was made from, each with its id: those of the responses before it too. */
  readonly input: readonly JsonObject[];
  /** How many of them came with the responses before it. */
  readonly before: number;
  readonly response: JsonObject;
  /** The process that made it ended: events with higher numbers may have been told than are kept. */
  readonly isCut?: boolean;
}

/** What a response in the background is made from, until it is over. */
export interface KeptRequest {
  /** Without its input, which the response has. */
  readonly request: JsonObject;
  readonly caller: KeptCaller;
  readonly traceId: string;
}

/** What storing responses needs. */
export interface KeptResponsesDeps {
  readonly values: KeptValues;
  readonly secret: Uint8Array;
  /** How long a response is kept, in milliseconds. */
  readonly keptMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** The responses of all workspaces. */
export class KeptResponses {
  readonly #deps: KeptResponsesDeps;
  readonly #key: Uint8Array;
  readonly #timer: NodeJS.Timeout;

  constructor(deps: KeptResponsesDeps) {
    this.#deps = deps;
    this.#key = new Uint8Array(hkdfSync('sha256', deps.secret, '', 'kept responses', 32));
    this.#timer = setInterval(() => void this.sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  /** Undefined: this workspace has none of this id. @throws GatewayError store_unavailable */
  async get(owner: Owner, id: string): Promise<KeptResponse | undefined> {
    const { values, now } = this.#deps;
    const place = placeOf(owner, id);
    const sealed = await values.get(place, now());
    if (sealed === undefined) return undefined;
    const text = (await this.#open(place, sealed)).toString('utf8');
    if (text.length > LONG) await nextTurn();
    return JSON.parse(text) as KeptResponse;
  }

  /** Answers have been made and paid: one that cannot be kept is told of, and goes out all the same. */
  async put(owner: Owner, id: string, kept: KeptResponse): Promise<void> {
    try {
      if (!(await this.mustPut(owner, id, kept))) this.tooLong();
    } catch (error) {
      this.#deps.onTrouble(error);
    }
  }

  /** Tells of a response that is not kept. */
  tooLong(): void {
    this.#deps.onTrouble(new Error('a response is too long to be kept'));
  }

  /** Whether it could be kept: false where it is too long. @throws GatewayError store_unavailable */
  async mustPut(owner: Owner, id: string, kept: KeptResponse): Promise<boolean> {
    const { values, now, keptMs } = this.#deps;
    const place = placeOf(owner, id);
    if (hasMoreTextThan(kept, MAX_KEPT_BYTES)) return false;
    const sealed = await this.#seal(place, await jsonInSlices(kept));
    if (sealed.length > MAX_KEPT_BYTES) return false;
    await values.put(place, sealed, now() + keptMs);
    return true;
  }

  /** With its events. @throws GatewayError store_unavailable */
  async remove(owner: Owner, id: string): Promise<boolean> {
    for (let part = 0; await this.#deps.values.remove(partOf(owner, id, `events/${part}`)); part++);
    return this.#deps.values.remove(placeOf(owner, id));
  }

  /** A part of the events that a response was told by, from 0. Events that cannot be kept are told of. */
  async putEvents(owner: Owner, id: string, part: number, events: readonly string[]): Promise<void> {
    try {
      await this.mustPutEvents(owner, id, part, events);
    } catch (error) {
      this.#deps.onTrouble(error);
    }
  }

  /** As `putEvents` does. @throws GatewayError store_unavailable */
  async mustPutEvents(owner: Owner, id: string, part: number, events: readonly string[]): Promise<void> {
    await this.#putPart(owner, id, `events/${part}`, events);
  }

  /** False: it is too long. @throws GatewayError store_unavailable */
  putRequest(owner: Owner, id: string, request: KeptRequest): Promise<boolean> {
    return this.#putPart(owner, id, 'request', request);
  }

  /** @throws GatewayError store_unavailable */
  async requestOf(owner: Owner, id: string): Promise<KeptRequest | undefined> {
    return (await this.#part(owner, id, 'request')) as KeptRequest | undefined;
  }

  /** The response is over: what it was made from is kept no longer. @throws GatewayError store_unavailable */
  async endRun(owner: Owner, id: string): Promise<void> {
    await this.#deps.values.remove(partOf(owner, id, 'request'));
    await this.#deps.values.remove(partOf(owner, id, 'stop'));
  }

  async #putPart(owner: Owner, id: string, name: string, content: object): Promise<boolean> {
    const { values, now, keptMs } = this.#deps;
    const place = partOf(owner, id, name);
    const sealed = await this.#seal(place, await packed(await jsonInSlices(content)));
    if (sealed.length > MAX_KEPT_BYTES) return false;
    await values.put(place, sealed, now() + keptMs);
    return true;
  }

  async #part(owner: Owner, id: string, name: string): Promise<unknown> {
    const { values, now } = this.#deps;
    const place = partOf(owner, id, name);
    const sealed = await values.get(place, now());
    return sealed && JSON.parse(await unpacked(await this.#open(place, sealed)));
  }

  /** Undefined: there is no such part. @throws GatewayError store_unavailable */
  async events(owner: Owner, id: string, part: number): Promise<readonly string[] | undefined> {
    return (await this.#part(owner, id, `events/${part}`)) as string[] | undefined;
  }

  /** The mark of a response that is to stop. It expires by itself. */
  async mark(owner: Owner, id: string, name: 'stop', forMs: number): Promise<void> {
    const { values, now } = this.#deps;
    await values.put(partOf(owner, id, name), MARK, now() + forMs);
  }

  /** @throws GatewayError store_unavailable */
  async hasMark(owner: Owner, id: string, name: 'stop'): Promise<boolean> {
    const { values, now } = this.#deps;
    return (await values.get(partOf(owner, id, name), now())) !== undefined;
  }

  get now(): number {
    return this.#deps.now();
  }

  /** Deletes what is over. */
  async sweep(): Promise<void> {
    const { values, now, onTrouble } = this.#deps;
    try {
      while ((await values.sweep(now())) >= 1000);
    } catch (error) {
      onTrouble(error);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #seal(place: string, content: string | Uint8Array): Promise<Uint8Array> {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(place));
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const sealed = await throughInSlices(cipher, bytes);
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
  }

  async #open(place: string, sealed: Uint8Array): Promise<Buffer> {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return Buffer.concat(await throughInSlices(decipher, sealed.subarray(NONCE_BYTES + TAG_BYTES)));
  }
}

/** Bytes as a cipher makes them, the last ones included. */
async function throughInSlices(cipher: Cipheriv | Decipheriv, bytes: Uint8Array): Promise<Buffer[]> {
  const made: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += LONG) {
    made.push(cipher.update(bytes.subarray(at, at + LONG)));
    const next = nextSlice();
    if (next !== undefined) await next;
  }
  made.push(cipher.final());
  return made;
}

const MARK = new Uint8Array([1]);
const deflated = promisify(deflateRaw);
const inflated = promisify(inflateRaw);
/** Shorter texts are kept as they are, in bytes: packing costs more than it saves. */
const PACKED_FROM = 65_536;
/** The first byte says whether the others are packed. */
const [AS_IS, PACKED] = [0, 1];

async function packed(json: string | Uint8Array): Promise<Uint8Array> {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json;
  if (bytes.length < PACKED_FROM) return Buffer.concat([Buffer.from([AS_IS]), bytes]);
  return Buffer.concat([Buffer.from([PACKED]), await deflated(bytes)]);
}

async function unpacked(bytes: Buffer): Promise<string> {
  const content = bytes.subarray(1);
  const plain = bytes[0] === PACKED ? await inflated(content) : content;
  return plain.toString('utf8');
}

/** Ids are the callers' texts: an owner's ids have no slash. */
function placeOf({ organisationId, workspaceId = '' }: Owner, id: string): string {
  return `response/${organisationId}/${workspaceId}/${id}`;
}

/** The id comes last: it may say anything. */
function partOf({ organisationId, workspaceId = '' }: Owner, id: string, name: string): string {
  return `response-part/${organisationId}/${workspaceId}/${name}/${id}`;
}
