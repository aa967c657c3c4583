// The documents of a collection in memory, so that a call that needs one makes no round trip. A replica is filled and
// kept up to date by follow.ts. It is asked within an organisation, so that no caller meets another's documents.
import type { Collection } from './collection.ts';
import type { Document } from './documents.ts';

/** What is kept, and how it is found. */
export interface ReplicaOptions<B extends object, R extends object> {
  /** What is kept of an active document; undefined: nothing. `before` is what is kept of it so far. */
  readonly row: (document: Document<B>, before: R | undefined) => R | undefined;
  /** A second name within the organisation, e.g. the slug. */
  readonly nameOf?: (row: R) => string | undefined;
  /** What rows are listed by, e.g. the collection they are in: unique over all organisations. */
  readonly groupOf?: (row: R) => string | undefined;
  /** Told of each version once the replica has it. `now` is undefined for archived documents. */
  readonly changed?: (now: R | undefined, before: R | undefined, document: Document<B>) => void;
}

/** What follow.ts needs of a replica. */
export interface Followed {
  readonly collection: Collection<object>;
  /** The newest version that was applied; 0 when there is none. */
  version(organisationId: string, id: string): number;
  /** Takes a document as it is now, archived ones too. False, changing nothing, unless its version is newer. */
  apply(document: Document<object>): boolean;
}

interface Rows<R> {
  /** Also of archived documents. */
  readonly versions: Map<string, number>;
  readonly byId: Map<string, R>;
  readonly byName: Map<string, R>;
}

const NO_ROWS: ReadonlyMap<string, never> = new Map<string, never>();
const NO_GROUP: ReadonlySet<never> = new Set();

export class Replica<B extends object, R extends object = Document<B>> implements Followed {
  readonly collection: Collection<B>;
  readonly #options: ReplicaOptions<B, R>;
  readonly #organisations = new Map<string, Rows<R>>();
  readonly #groups = new Map<string, Set<R>>();
  #size = 0;

  constructor(collection: Collection<B>, options: ReplicaOptions<B, R>) {
    this.collection = collection;
    this.#options = options;
  }

  version(organisationId: string, id: string): number {
    return this.#organisations.get(organisationId)?.versions.get(id) ?? 0;
  }

  apply(document: Document<B>): boolean {
    const { id, organisationId, version, status } = document;
    const rows = this.#rowsOf(organisationId);
    if ((rows.versions.get(id) ?? 0) >= version) return false;
    rows.versions.set(id, version);
    const before = rows.byId.get(id);
    const now = status === 'active' ? this.#options.row(document, before) : undefined;
    if (before !== undefined) this.#unlist(rows, before);
    if (now !== undefined) this.#list(rows, now);
    if (now !== undefined) rows.byId.set(id, now);
    else rows.byId.delete(id);
    this.#size += Number(now !== undefined) - Number(before !== undefined);
    this.#options.changed?.(now, before, document);
    return true;
  }

  /** By id. */
  get(organisationId: string, id: string): R | undefined {
    return this.#organisations.get(organisationId)?.byId.get(id);
  }

  /** By name alone. */
  named(organisationId: string, name: string): R | undefined {
    return this.#organisations.get(organisationId)?.byName.get(name);
  }

  /** By id, else by name. */
  find(organisationId: string, idOrName: string): R | undefined {
    const rows = this.#organisations.get(organisationId);
    return rows?.byId.get(idOrName) ?? rows?.byName.get(idOrName);
  }

  /** All of an organisation, by id. */
  of(organisationId: string): ReadonlyMap<string, R> {
    return this.#organisations.get(organisationId)?.byId ?? NO_ROWS;
  }

  /** All of a group, the last changed one last. */
  group(name: string): ReadonlySet<R> {
    return this.#groups.get(name) ?? NO_GROUP;
  }

  /** Of all organisations. */
  *all(): Generator<R> {
    for (const { byId } of this.#organisations.values()) yield* byId.values();
  }

  /** How many there are, of all organisations. */
  get size(): number {
    return this.#size;
  }

  #rowsOf(organisationId: string): Rows<R> {
    const known = this.#organisations.get(organisationId);
    if (known !== undefined) return known;
    const rows: Rows<R> = { versions: new Map(), byId: new Map(), byName: new Map() };
    this.#organisations.set(organisationId, rows);
    return rows;
  }

  #unlist({ byName }: Rows<R>, row: R): void {
    // The name may be another's by now: changes of two documents come in any order.
    const name = this.#options.nameOf?.(row);
    if (name !== undefined && byName.get(name) === row) byName.delete(name);
    const key = this.#options.groupOf?.(row);
    const group = key === undefined ? undefined : this.#groups.get(key);
    if (key === undefined || group === undefined) return;
    group.delete(row);
    if (group.size === 0) this.#groups.delete(key);
  }

  #list({ byName }: Rows<R>, row: R): void {
    const name = this.#options.nameOf?.(row);
    if (name !== undefined) byName.set(name, row);
    const key = this.#options.groupOf?.(row);
    if (key === undefined) return;
    const group = this.#groups.get(key) ?? new Set<R>();
    this.#groups.set(key, group.add(row));
  }
}
