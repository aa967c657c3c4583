// What the lists of declared state have in common.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Directory } from '../../access/directory.ts';
import type { ManagedRecord } from '../../access/managed-records.ts';
import type { Collection, JsonObject } from '../../store/collection.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';

/** A record as a file declares it. */
export interface DeclaredRecord {
  readonly kind: Kind;
  /** The file's name, and which of the files it is. */
  readonly file: string;
  readonly fileIndex: number;
  /** E.g. "configs[0]". */
  readonly path: string;
  /** As it stands in the file. */
  readonly declared: JsonObject;
  /** With its secrets in place. */
  readonly members: JsonObject;
  readonly secrets: readonly string[];
  /** What it is found by. */
  readonly slug: string | undefined;
  readonly name: string;
  /** Places whose faults are told already: what is said of them again is a consequence. */
  readonly wrongMembers: readonly string[];
}

/** Where records are looked up and changed. */
export interface KindDeps {
  readonly organisationId: string;
  readonly documents: DocumentStore;
  readonly directory: Directory;
  /** Calls a method of the control plane. */
  readonly run: (method: DescMethod, json: JsonObject) => Promise<Message>;
  /** All records that the files declare. */
  readonly records: readonly DeclaredRecord[];
}

/** A record that is stored. */
export interface Stored {
  readonly document: Document<object>;
  /** What it was declared as; undefined: it was made by hand. */
  readonly managed: ManagedRecord | undefined;
}

/** One list of the document. */
export interface Kind {
  readonly list: string;
  readonly collection: Collection<object>;
  readonly create: DescMethod;
  readonly update: DescMethod;
  readonly remove: DescMethod;
  /** The member of updates and removals that names the record. */
  readonly id: string;
  /** Whether it is in a workspace: always, when it names one, or never. */
  readonly place: 'workspace' | 'either' | 'organisation';
  /** Whether records have slugs that the file may choose. */
  readonly slugs: boolean;
  /** Slugs that the create call does not take. */
  readonly choosesSlug?: boolean;
  /** Members in addition to those of the create call. */
  readonly own?: readonly string[];
  /** Members that only the create call knows and that say nothing later. */
  readonly onlyNew?: readonly string[];
  /** Values of members that are no longer declared and cannot be taken away. */
  readonly absent?: JsonObject;
  /** The name of a record without a slug; undefined: it has none. */
  readonly nameOf: (members: JsonObject) => string | undefined;
  /** What a stored record is found by when it has no slug. */
  readonly storedName: (document: Document<object>) => string | undefined;
  /** Whether a stored name is the one of a file; equality when absent. The newest of several counts. */
  readonly isNamed?: (name: string, stored: string) => boolean;
  /** Members that hold secrets although their names do not say so. */
  readonly isSecret?: (path: string, record: JsonObject) => boolean;
  /** The members of the create call. */
  readonly prepare?: (members: JsonObject, deps: KindDeps) => JsonObject;
  /** Members of an update that a record's are sent with. */
  readonly changed?: (json: JsonObject, known: JsonObject) => JsonObject;
  /** What is done in addition, once the record is there. */
  readonly more?: (
    record: DeclaredRecord,
    document: Document<object>,
    before: JsonObject | undefined,
    deps: KindDeps,
  ) => Promise<void>;
  /** What is done once all lists were read, for members that name later ones. */
  readonly late?: readonly string[];
  /** The record as the file has it, without secrets; undefined: it is none that a file declares. */
  readonly exported: (document: Document<object>, deps: KindDeps) => Promise<JsonObject | undefined>;
  /** Whether it may be archived; if not, it is left as it is. */
  readonly stays?: (document: Document<object>) => boolean;
  /** What removals name in addition. */
  readonly removal?: (document: Document<object>) => JsonObject;
}
