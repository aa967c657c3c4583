// Where declared state is worked out: the control plane's own services over documents that are not stored yet.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Directory } from '../../access/directory.ts';
import type { Call } from '../../call/call.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { StagedChanges } from './staged-changes.ts';
import type { StagedDocuments } from './staged-documents.ts';

export interface Sandbox {
  readonly documents: StagedDocuments;
  readonly changes: StagedChanges;
  readonly directory: Directory;
  /**
   * Calls a method as the caller would: with its rules, its scopes and its validation.
   * @throws GatewayError as the method does
   */
  run(method: DescMethod, json: JsonObject, call: Call): Promise<Message>;
}
