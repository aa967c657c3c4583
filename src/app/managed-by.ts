// Records of declared state: each shows the file that it comes from, and is not changed by hand.
import type { DescMessage, DescMethod, Message } from '@bufbuild/protobuf';
import { managedByFile } from '../access/audit/changes.ts';
import type { ManagedRecords } from '../access/managed-records.ts';
import { KINDS } from '../admin/declared-state/kinds.ts';
import type { Call } from '../call/call.ts';
import type { Handler, Implementation } from '../rpc/handler.ts';
import type { Registration } from '../rpc/methods.ts';
import type { Collection } from '../store/collection.ts';
import type { DocumentStore } from '../store/documents.ts';

interface ManagedByDeps {
  readonly managed: ManagedRecords;
  readonly documents: Pick<DocumentStore, 'get'>;
}

type Shown = Message & { id?: unknown; managedBy?: string };

/** The service with `managed_by` in what it answers, and with refusals of changes by hand that come before all others. */
export function withManagedBy({ service, implementation }: Registration, deps: ManagedByDeps): Registration {
  const entries = service.methods.map((method): [string, Handler] => {
    const own = implementation[method.localName] as Handler;
    // Made with the first call: it reads the method's messages, and a start builds none of them.
    let made: Handler | undefined;
    return [
      method.localName,
      (input, call) => {
        made ??= handlerOf(method, own, deps);
        return made(input, call);
      },
    ];
  });
  return { service, implementation: Object.fromEntries(entries) satisfies Implementation };
}

function handlerOf(method: DescMethod, own: Handler, deps: ManagedByDeps): Handler {
  const kind = KINDS.find(({ update, remove }) => update === method || remove === method);
  const local = kind && method.input.fields.find(({ name }) => name === kind.id)?.localName;
  const refuses = kind !== undefined && local !== undefined;
  const shown = shownIn(method.output);
  if (!refuses && shown === undefined) return own;
  return async (input, call) => {
    if (refuses) await refuseManaged(deps, kind.collection, input, local, call);
    const answer = await own(input, call);
    if (shown !== undefined) for (const record of shown(answer as Message)) fill(deps.managed, record);
    return answer;
  };
}

/** Where the records of an answer are; undefined: nowhere. */
function shownIn(output: DescMessage): ((answer: Message) => readonly Shown[]) | undefined {
  if (hasManagedBy(output)) return (answer) => [answer];
  const list = output.fields.find(
    (field) => field.fieldKind === 'list' && field.listKind === 'message' && hasManagedBy(field.message),
  );
  if (list === undefined) return undefined;
  return (answer) => (answer as Message & Record<string, unknown>)[list.localName] as readonly Shown[];
}

function hasManagedBy(desc: DescMessage): boolean {
  return desc.fields.some(({ localName }) => localName === 'managedBy');
}

function fill(managed: ManagedRecords, record: Shown): void {
  const file = typeof record.id === 'string' ? managed.fileOf(record.id) : undefined;
  if (file !== undefined) record.managedBy = file;
}

/** @throws GatewayError conflict */
async function refuseManaged(
  { managed, documents }: ManagedByDeps,
  collection: Collection<object>,
  input: Parameters<Handler>[0],
  local: string,
  { principal, place }: Call,
): Promise<void> {
  const caller = place ?? principal;
  const named = (input as Message & Record<string, unknown>)[local];
  if (managed.isEmpty || caller === undefined || typeof named !== 'string') return;
  const { organisationId, workspaceId } = caller;
  // A slug of several workspaces is the service's to refuse.
  const found = await documents
    .get({ organisationId, workspaceId }, collection, named)
    .catch(() => undefined);
  const file = found && managed.fileOf(found.id);
  if (file !== undefined) throw managedByFile(file);
}
