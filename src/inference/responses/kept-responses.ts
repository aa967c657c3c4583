// Responses that callers may go on from: those of providers that keep none are kept here whole, of the others only who
// made them. Sealed, per workspace, for a bounded time.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import type { Principal } from '../../call/principal.ts';
import { type KeptValues, MAX_KEPT_BYTES } from '../../store/kept-values.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
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
}

/** What keeping is done with. */
export interface KeptResponsesDeps {
  readonly values: KeptValues;
  readonly secret: Uint8Array;
  /** How long a response is kept, in milliseconds. */
  readonly keptMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}

type Owner = Pick<Principal, 'organisationId' | 'workspaceId'>;

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
    return sealed && (JSON.parse(this.#open(place, sealed)) as KeptResponse);
  }

  /** Answers have been made and paid: one that cannot be kept is told of, and goes out all the same. */
  async put(owner: Owner, id: string, kept: KeptResponse): Promise<void> {
    const { values, now, keptMs, onTrouble } = this.#deps;
    const place = placeOf(owner, id);
    try {
      const sealed = this.#seal(place, JSON.stringify(kept));
      if (sealed.length <= MAX_KEPT_BYTES) await values.put(place, sealed, now() + keptMs);
      else onTrouble(new Error(`a response of ${sealed.length} bytes is too long to be kept`));
    } catch (error) {
      onTrouble(error);
    }
  }

  /** @throws GatewayError store_unavailable */
  remove(owner: Owner, id: string): Promise<boolean> {
    return this.#deps.values.remove(placeOf(owner, id));
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

  #seal(place: string, text: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  #open(place: string, sealed: Uint8Array): string {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const body = sealed.subarray(NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  }
}

/** Ids are the callers' texts: an owner's ids have no slash. */
function placeOf({ organisationId, workspaceId = '' }: Owner, id: string): string {
  return `response/${organisationId}/${workspaceId}/${id}`;
}
