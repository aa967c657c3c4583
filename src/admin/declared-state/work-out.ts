// Files of declared state -> what changes: every record goes through the control plane's own services, over documents that
// are not stored yet.
import { isDeepStrictEqual } from 'node:util';
import type { ChangePart } from '../../access/audit/changes.ts';
import { type ApiKeyBody, apiKeys } from '../../access/identity-collections.ts';
import type { KeyHasher } from '../../access/key-hash.ts';
import { secretParts, withSecret } from '../../access/keys.ts';
import type { ManagedRecord } from '../../access/managed-records.ts';
import { storedProviders } from '../../access/providers/provider-collections.ts';
import type { Call } from '../../call/call.ts';
import { GatewayError, invalidField, type Violation, validationFailed } from '../../lib/errors.ts';
import { mapInSlices, nextSlice } from '../../lib/time-slices.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, DocumentStore, WriteOperation } from '../../store/documents.ts';
import { changeOf, type PlannedChange } from './changes-of.ts';
import { findStored, StoredRecords } from './find-stored.ts';
import type { DeclaredRecord, Kind, KindDeps } from './kind.ts';
import { KINDS, kindName } from './kinds.ts';
import { OwnedRecords } from './owned-records.ts';
import { fieldOf, type GivenFile, type ReadFiles, readFiles } from './read-files.ts';
import { createMembers, idOf, naming, placeOf, updateStored } from './run-record.ts';
import type { Sandbox } from './sandbox.ts';

export interface WorkOutDeps {
  readonly documents: DocumentStore;
  readonly hasher: KeyHasher;
  readonly openSandbox: (organisationId: string) => Promise<Sandbox>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What is declared. */
export interface Declared {
  readonly source: string;
  readonly files: readonly GivenFile[];
  readonly secrets: Readonly<Record<string, string>>;
}

/** What changes. */
export interface WorkedOut {
  readonly changes: readonly PlannedChange[];
  /** One for each change. */
  readonly parts: readonly ChangePart[];
  /** Which records come from which file; written with the last part, or alone where nothing else changes. */
  readonly ownership: readonly WriteOperation[];
}

/** @throws GatewayError validation_failed with every fault */
export async function workOut(deps: WorkOutDeps, call: Call, declared: Declared): Promise<WorkedOut> {
  const read = await readFiles(declared.files, (name) =>
    Object.hasOwn(declared.secrets, name) ? declared.secrets[name] : undefined,
  );
  const work = await Work.open(deps, call, declared, read);
  await work.run();
  return work.result();
}

/** An open piece of work. */
class Work {
  readonly #deps: WorkOutDeps;
  readonly #read: ReadFiles;
  readonly #sandbox: Sandbox;
  readonly #kinds: KindDeps;
  readonly #stored: StoredRecords;
  readonly #owned: OwnedRecords;
  readonly #faults: Violation[];
  readonly #faulty: Set<string>;
  readonly #changes: (PlannedChange & {
    readonly owner: number;
    readonly part: Omit<ChangePart, 'operations'>;
  })[] = [];
  /** Ids of the changes. */
  readonly #told = new Set<string>();
  #owner = 0;

  static async open(deps: WorkOutDeps, call: Call, declared: Declared, read: ReadFiles): Promise<Work> {
    const organisationId = call.principal?.organisationId ?? '';
    const sandbox = await deps.openSandbox(organisationId);
    const owned = await OwnedRecords.read(sandbox.documents, organisationId, declared.source);
    return new Work(deps, call, read, sandbox, owned, organisationId);
  }

  private constructor(
    deps: WorkOutDeps,
    call: Call,
    read: ReadFiles,
    sandbox: Sandbox,
    owned: OwnedRecords,
    organisationId: string,
  ) {
    this.#deps = deps;
    this.#read = read;
    this.#sandbox = sandbox;
    this.#owned = owned;
    this.#faults = [...read.faults];
    this.#faulty = new Set(read.faulty);
    this.#stored = new StoredRecords(deps.documents, organisationId);
    this.#kinds = {
      organisationId,
      documents: sandbox.documents,
      directory: sandbox.directory,
      run: (method, json) => sandbox.run(method, json, call),
      records: read.records,
    };
  }

  async run(): Promise<void> {
    for (const kind of KINDS) {
      let pending = this.#read.records.filter((record) => record.kind === kind);
      for (;;) {
        const failed: [DeclaredRecord, unknown][] = [];
        for (const record of pending) {
          await nextSlice();
          await this.#runRecord(record).catch((error: unknown) => failed.push([record, error]));
        }
        // Configs name each other in any order.
        const again = kind.list === 'configs' && failed.length > 0 && failed.length < pending.length;
        if (!again) {
          for (const [record, error] of failed) this.#failed(record, error);
          break;
        }
        pending = failed.map(([record]) => record);
      }
    }
    for (const record of this.#read.records) {
      await nextSlice();
      await this.#runLate(record);
    }
    if (this.#faults.length === 0) await this.#archiveGone();
    await this.#owned.write(this.#sandbox.documents, this.#deps.now());
  }

  /** @throws GatewayError validation_failed with every fault */
  async result(): Promise<WorkedOut> {
    if (this.#faults.length > 0)
      throw validationFailed(await mapInSlices(this.#faults, (fault) => this.#said(fault)));
    const operations = new Map(this.#changes.map(({ owner }): [number, WriteOperation[]] => [owner, []]));
    const ownership: WriteOperation[] = [];
    for (const { owner, operation } of await this.#sandbox.documents.writes())
      (operations.get(owner) ?? ownership).push(operation);
    const parts = this.#changes.map(
      ({ owner, part }): ChangePart => ({ ...part, operations: operations.get(owner) ?? [] }),
    );
    return { changes: this.#changes, parts, ownership };
  }

  async #runRecord(record: DeclaredRecord): Promise<void> {
    const { kind, slug, members } = record;
    const { documents, changes } = this.#sandbox;
    documents.owner = ++this.#owner;
    changes.take();
    const workspaceId = placeOf(record, this.#kinds);
    const found = await findStored(this.#stored, record, workspaceId, (id) => this.#owned.of(id));
    const secretHash = this.#hashOf(record);
    const managed = found && this.#owned.of(found.id);
    let id = found?.id ?? '';
    if (found === undefined) {
      changes.wanted =
        slug !== undefined && kind.choosesSlug ? { collection: kind.collection.name, slug } : undefined;
      try {
        id = idOf(await this.#kinds.run(kind.create, createMembers(record, workspaceId, this.#kinds)));
      } finally {
        changes.wanted = undefined;
      }
    } else {
      if (found.workspaceId !== workspaceId)
        throw invalidField('workspace', 'cannot be changed once the record is made: give it another slug');
      if (isAsDeclared(managed, record, secretHash)) return this.#unchanged(record, found.id, managed);
      const known = managed?.declared ?? (await kind.exported(found, this.#kinds)) ?? {};
      const isEqual = secretHash === undefined && (managed === undefined || !hasGone(managed, record));
      if (isEqual && covers(known, record.declared, found, this.#kinds))
        return this.#unchanged(record, found.id, managed);
      const json = createMembers(record, workspaceId, this.#kinds);
      await updateStored(record, found, json, managed, known, this.#kinds);
    }
    if (kind.list === 'keys' && typeof members.key === 'string') await this.#setKey(id, members.key);
    const document = await documents.get(this.#scope(), kind.collection, id);
    if (document !== undefined)
      await kind.more?.(
        record,
        document,
        found === undefined ? undefined : (managed?.declared ?? {}),
        this.#kinds,
      );
    this.#note(record, id);
    this.#keep(record, id, managed);
  }

  /** Members that name records of later lists. */
  async #runLate(record: DeclaredRecord): Promise<void> {
    const { kind, members } = record;
    const id = this.#owned.idOf(record);
    if (kind.late === undefined || id === undefined) return;
    const before = this.#owned.before(id)?.declared ?? {};
    const late: Record<string, JsonObject[string]> = {};
    for (const name of kind.late) {
      if (members[name] !== undefined) late[name] = members[name];
      else if (before[name] !== undefined) late[name] = null;
    }
    const document = await this.#sandbox.documents.get(this.#scope(), kind.collection, id);
    if (Object.keys(late).length === 0 || document === undefined) return;
    this.#sandbox.documents.owner = ++this.#owner;
    this.#sandbox.changes.take();
    try {
      await this.#kinds.run(kind.update, { ...late, ...naming(kind.update, kind, document) });
      this.#note(record, id);
    } catch (error) {
      this.#failed(record, error);
    }
  }

  async #archiveGone(): Promise<void> {
    for (const kind of KINDS.toReversed()) {
      let pending = this.#owned.gone(kindName(kind));
      for (;;) {
        const failed: [(typeof pending)[number], GatewayError][] = [];
        for (const one of pending) {
          await nextSlice();
          const error = await this.#archiveOne(kind, ...one);
          if (error !== undefined) failed.push([one, error]);
        }
        // What names another record of its list goes before it.
        if (failed.length > 0 && failed.length < pending.length) pending = failed.map(([one]) => one);
        else {
          for (const [[id], error] of failed) await this.#notArchived(kind, id, error);
          break;
        }
      }
    }
  }

  /** Resolves with the refusal; undefined: it is archived, or left as it is. */
  async #archiveOne(kind: Kind, id: string, managed: ManagedRecord): Promise<GatewayError | undefined> {
    const document = await this.#sandbox.documents.get(this.#scope(), kind.collection, id);
    if (document === undefined || kind.stays?.(document)) return undefined;
    this.#sandbox.documents.owner = ++this.#owner;
    this.#sandbox.changes.take();
    try {
      await this.#archive(kind, document, managed);
      const name = nameOf(kind, document);
      this.#push({ kind, file: managed.file, path: undefined, name }, id, 'archive');
      return undefined;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      return error;
    }
  }

  async #notArchived(kind: Kind, id: string, error: GatewayError): Promise<void> {
    const document = await this.#sandbox.documents.get(this.#scope(), kind.collection, id);
    const name = document === undefined ? id : nameOf(kind, document);
    const message = `${kind.list} ${name} is no longer declared and cannot be archived: ${error.message}`;
    this.#faults.push({ field: fieldOf(0, ''), rule: 'archive', message });
  }

  async #archive(kind: Kind, document: Document<object>, { made = [] }: ManagedRecord): Promise<void> {
    const providers = KINDS.find(({ list }) => list === 'providers')!;
    for (const id of made) {
      const one = await this.#sandbox.documents.get(this.#scope(), storedProviders, id);
      if (one !== undefined)
        await this.#kinds.run(providers.remove, naming(providers.remove, providers, one));
    }
    await this.#kinds.run(kind.remove, {
      ...naming(kind.remove, kind, document),
      ...kind.removal?.(document),
    });
  }

  /** The key's secret is the given one, not one that was made. */
  async #setKey(id: string, secret: string): Promise<void> {
    if (!/^[\x21-\x7e]{16,512}$/.test(secret))
      throw invalidField('key', 'must be 16 to 512 printable characters without spaces');
    const { documents: staged } = this.#sandbox;
    const key = await staged.get(this.#scope(), apiKeys, id);
    if (key === undefined) return;
    const body: ApiKeyBody = withSecret(key.body, secretParts(this.#deps.hasher, secret));
    if (body.hash === key.body.hash) return;
    await staged.update(this.#scope(), apiKeys, id, key.version, { body, updatedAt: this.#deps.now() });
  }

  #hashOf({ secrets }: DeclaredRecord): string | undefined {
    return secrets.length === 0 ? undefined : this.#deps.hasher.hash(JSON.stringify(secrets));
  }

  /** What two files say alike stays the first one's. */
  #unchanged(record: DeclaredRecord, id: string, managed: ManagedRecord | undefined): void {
    if (this.#owned.isOfOther(id)) this.#owned.leave(record, id);
    else this.#keep(record, id, managed);
  }

  #keep(record: DeclaredRecord, id: string, managed: ManagedRecord | undefined): void {
    const { kind, file, declared } = record;
    const secretHash = this.#hashOf(record);
    const own = this.#sandbox.documents.writesOf(this.#owner).flatMap(({ operation }) => {
      const isMade = operation.kind === 'insert' && kind.list === 'integrations';
      return isMade && operation.collection.name === storedProviders.name ? [operation.document.id] : [];
    });
    const made = [...new Set([...(managed?.made ?? []), ...own])];
    this.#owned.keep(record, id, {
      kind: kindName(kind),
      file,
      declared,
      ...(secretHash === undefined ? {} : { secretHash }),
      ...(made.length === 0 ? {} : { made }),
    });
  }

  /** Tells a record's change when there is one. */
  #note({ kind, file, path, name }: DeclaredRecord, id: string): void {
    const { documents } = this.#sandbox;
    if (documents.writesOf(this.#owner).length === 0) return;
    const isNew =
      documents.baseOf(kind.collection, id) === undefined && documents.isChanged(kind.collection, id);
    const told = this.#told.has(id);
    this.#push({ kind, file, path, name }, id, isNew && !told ? 'create' : 'update');
  }

  #push(
    record: Pick<DeclaredRecord, 'kind' | 'file' | 'name'> & { readonly path: string | undefined },
    id: string,
    action: PlannedChange['action'],
  ): void {
    const noted = this.#sandbox.changes.take();
    this.#told.add(id);
    this.#changes.push({
      ...changeOf(this.#kinds, record, id, action, noted),
      owner: this.#owner,
    });
  }

  #failed(record: DeclaredRecord, error: unknown): void {
    if (!(error instanceof GatewayError) || error.status >= 500) throw error;
    const at = (field: string): string =>
      fieldOf(record.fileIndex, field === '' ? record.path : `${record.path}.${asDeclared(field)}`);
    const { violations, param } = error.details;
    const told =
      violations !== undefined && violations.length > 0
        ? violations
        : [
            {
              field: param ?? '',
              rule: error.reason,
              message: param === undefined ? error.message : error.message.replace(`${param}: `, ''),
            },
          ];
    for (const { field, rule, message } of told)
      if (!this.#isConsequence(record, field, at(field)))
        this.#faults.push({ field: at(field), rule, message });
    this.#faulty.add(record.name);
  }

  /** Whether a refusal comes of a fault that is told already: of the same member, or of a record that it names. */
  #isConsequence({ declared, wrongMembers }: DeclaredRecord, field: string, place: string): boolean {
    const isTold = (told: string): boolean =>
      told === place || told.startsWith(`${place}.`) || place.startsWith(`${told}.`);
    if (wrongMembers.some(isTold)) return true;
    const names = (value: unknown): boolean => textsOf(value).some((text) => this.#faulty.has(text));
    // A refusal of no member, or of one that is not in the file, may be of any.
    return names(valueAt(declared, asDeclared(field)) ?? declared);
  }

  /** A fault without a text that stood where a secret belongs. */
  #said({ field, rule, message }: Violation): Violation {
    let text = message;
    for (const secret of this.#read.unspeakable)
      if (secret.length > 3) text = text.replaceAll(secret, '[secret]');
    return { field, rule, message: text };
  }

  #scope() {
    return { organisationId: this.#kinds.organisationId, workspaceId: undefined };
  }
}

function nameOf(kind: Kind, document: Document<object>): string {
  return document.slug ?? kind.storedName(document) ?? document.id;
}

function isAsDeclared(
  managed: ManagedRecord | undefined,
  { declared }: DeclaredRecord,
  secretHash: string | undefined,
): boolean {
  return (
    managed !== undefined &&
    managed.secretHash === secretHash &&
    isDeepStrictEqual(managed.declared, JSON.parse(JSON.stringify(declared)))
  );
}

/** Whether the file named members that it no longer names. */
function hasGone({ declared }: ManagedRecord, record: DeclaredRecord): boolean {
  return Object.keys(declared).some((name) => !(name in record.declared));
}

/** Whether all that a file says is so already. */
function covers(
  known: JsonObject,
  declared: JsonObject,
  { workspaceId }: Document<object>,
  { directory, organisationId }: KindDeps,
): boolean {
  return Object.entries(declared).every(([name, value]) => {
    if (name === 'workspace') return directory.workspace(organisationId, String(value))?.id === workspaceId;
    return isDeepStrictEqual(known[name], value);
  });
}

const DECLARED: Readonly<Record<string, string>> = {
  workspace_id: 'workspace',
  integration_id: 'integration',
};

/** A member of a call as the file has it. */
function asDeclared(field: string): string {
  const [first = '', ...rest] = field.split('.');
  return [DECLARED[first] ?? first, ...rest].join('.');
}

/** The value at a place such as `config.targets[0].provider`; undefined: there is none. */
function valueAt(declared: JsonObject, field: string): unknown {
  let value: unknown = declared;
  for (const name of field.split(/[.[\]]+/).filter((part) => part !== '')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** All texts of a value; what names a stored provider, too, without its sign. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value, value.replace(/^@/, '').split('/')[0]!];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    name === 'slug' || name === 'name' ? [] : textsOf(item),
  );
}
