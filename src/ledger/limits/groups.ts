// The groups of usage-limit policies: which combinations of values were counted, so that they can be found again.
import { hash } from 'node:crypto';
import { toGatewayError } from '../../lib/errors.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { usageLimitEntities } from '../policies.ts';

/** A group of a policy. */
export interface Group {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
  readonly policyId: string;
  /** As its counter names it. */
  readonly group: string;
  /** For people: `metadata._user:x`, several with a comma between. */
  readonly valueKey: string;
}

export interface GroupsDeps {
  readonly documents: DocumentStore;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Groups of one policy that are kept: callers that may write metadata can create any number of them. */
export const MOST_GROUPS = 10_000;
/** Counters that are known to be kept already. */
const MOST_KNOWN = 200_000;
const MOST_WAITING = 10_000;
const EVERY_MS = 100;
const AT_ONCE = 16;
/** Of a value key, as an index takes it. */
const LONGEST = 1000;

/** Stores groups after the calls that are counted in them: each once per process. */
export class Groups {
  readonly #deps: GroupsDeps;
  readonly #known = new Set<string>();
  readonly #sizes = new Map<string, number>();
  #waiting: Group[] = [];
  #writing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(deps: GroupsDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.flush(), EVERY_MS).unref();
  }

  /** Takes note of a group that is counted in. @param counter the counter's name */
  note(counter: string, group: () => Group): void {
    if (this.#known.has(counter)) return;
    if (this.#waiting.length >= MOST_WAITING) return;
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.add(counter);
    const found = group();
    const size = this.#sizes.get(found.policyId) ?? 0;
    if (size >= MOST_GROUPS) return;
    this.#sizes.set(found.policyId, size + 1);
    this.#waiting.push(found);
  }

  /** Resolves when what was noted so far is kept, or the store did not take it. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#waiting.length === 0) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  async #write(): Promise<void> {
    const batch = this.#waiting.splice(0);
    for (let i = 0; i < batch.length; i += AT_ONCE) {
      const part = batch.slice(i, i + AT_ONCE);
      const failures = await Promise.all(part.map((group) => this.#keep(group)));
      const error = failures.find((failure) => failure !== undefined);
      if (error === undefined) continue;
      this.#waiting.unshift(...batch.slice(i));
      this.#deps.onTrouble(error, 'groups of usage-limit policies could not be kept yet');
      return;
    }
  }

  /** Resolves with the groups worth another attempt. */
  async #keep({ organisationId, workspaceId, policyId, group, valueKey }: Group): Promise<unknown> {
    const { documents, now } = this.#deps;
    const body = { policyId, group, valueKey: shortened(valueKey) };
    const document = { id: entityId(policyId, group), createdAt: now(), body };
    try {
      await documents.insert({ organisationId, workspaceId }, usageLimitEntities, {
        ...document,
        ...(workspaceId === undefined ? {} : { workspaceId }),
      });
      return undefined;
    } catch (thrown) {
      // It is stored already, or never can be.
      return toGatewayError(thrown).reason === 'store_unavailable' ? thrown : undefined;
    }
  }
}

/** The same for the same group in all instances: a UUID made of the digest (RFC 9562, version 8). */
export function entityId(policyId: string, group: string): string {
  const digits = hash('sha256', `${policyId} ${group}`, 'hex');
  const variant = '89ab'[Number.parseInt(digits[16] ?? '0', 16) % 4];
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-');
}

function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1).toWellFormed()}…`;
}
