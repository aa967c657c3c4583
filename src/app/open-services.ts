// The services of the contract, with what each needs of the rooms.

import { McpService } from '../../gen/gateway/inference/v2/mcp_pb.ts';
import type { DeclaredStateDeps } from '../admin/declared-state/service.ts';
import type { PromptsDeps } from '../admin/prompts/deps.ts';
import type { Principal } from '../call/principal.ts';
import { OwnBatches } from '../inference/batches/own-batches.ts';
import { ProviderNotes } from '../inference/batches/provider-notes.ts';
import type { SettleDeps } from '../inference/batches/settle-output.ts';
import { OwnFiles } from '../inference/files/own-files.ts';
import { OwnInputs } from '../inference/files/own-inputs.ts';
import { OwnUploads } from '../inference/files/own-uploads.ts';
import { ProviderCopies } from '../inference/files/provider-copies.ts';
import { promptRuns } from '../inference/prompts.ts';
import type { TurnPort } from '../inference/realtime/turns.ts';
import { BackgroundRuns } from '../inference/responses/background-runs.ts';
import { KeptResponses } from '../inference/responses/kept-responses.ts';
import { RunRecords } from '../inference/responses/run-records.ts';
import { PromptCatalogue } from '../prompts/prompt-catalogue.ts';
import { implement } from '../rpc/implement.ts';
import { applying } from '../rpc/interceptors/limits.ts';
import { check } from '../rpc/interceptors/validate.ts';
import { identityDeps, type Rooms } from './control-plane-deps.ts';
import { openSandbox } from './declared-sandbox.ts';
import { withManagedBy } from './managed-by.ts';
import { openOidc } from './open-oidc.ts';
import { openScim } from './open-scim.ts';
import { providerBatchBooks } from './provider-batch-books.ts';
import { registrations } from './services.ts';

/** `foresee` and `mcpServerId` are what limits ask before a call runs. */
export function openServices(rooms: Rooms) {
  const { stores, replicas, opened, validator } = rooms;
  const book = new PromptCatalogue(replicas.prompts, stores.documents);
  const messageRules: PromptsDeps['messageRules'] = (desc, message) => check(validator, desc, message);
  const runs = promptRuns(opened.pipeline, { book, messageRules });
  const { auditLog, directory } = rooms.identity;
  const audit = { documents: stores.documents, directory, flush: auditLog.flush, now: Date.now };
  const { keptResponses, backgroundRuns } = openResponses(rooms);
  const files = openFiles(rooms);
  const settling = openSettling(rooms);
  const copies = new ProviderCopies(opened.pipeline, files, settling.notes);
  opened.pipeline.fileInputs.current = new OwnInputs(files, copies);
  const batches = new OwnBatches({ documents: stores.documents, files, now: Date.now });
  const turns: TurnPort = { run: undefined };
  const { realtimeIdleMs: idleMs, realtimeMaxMs: maxMs } = rooms.settings;
  const sessionsOf = { turns, times: { idleMs, maxMs } };
  const oidc = openOidc(rooms);
  const identity = {
    signOutUrl: oidc.signOutUrl.bind(oidc),
    files,
    copies,
    uploads: openUploads(rooms, files),
    batches,
    settling,
    runs,
    book,
    messageRules,
    keptResponses,
    backgroundRuns,
    sessionsOf,
    ...identityDeps(rooms),
  };
  const declared: DeclaredStateDeps = {
    ...identity,
    changes: auditLog.changes,
    openSandbox: (organisationId) => openSandbox(rooms, organisationId),
  };
  return {
    turns,
    oidc,
    foresee: runs.foresee,
    mcpServerId: (organisationId: string, slug: string) => replicas.mcp.server(organisationId, slug)?.id,
    services: [
      ...registrations(opened.pipeline, logsDeps(rooms), identity, audit, declared),
      implement(McpService, rooms.mcp.service),
    ].map((one) => withManagedBy(one, { managed: rooms.identity.managed, documents: stores.documents })),
    declared,
    scim: openScim(identity, rooms.settings),
    files,
    backgroundRuns,
  };
}

function openResponses({ settings, stores, log }: Rooms) {
  const values = stores.store.kept;
  const times = { keptMs: settings.responseDays * 86_400_000, now: Date.now };
  const onTrouble = (error: unknown): void => log.warn({ err: error }, 'a response could not be kept');
  const kept = new KeptResponses({ values, secret: stores.hashSecret, ...times, onTrouble });
  const backgroundRuns = new BackgroundRuns({
    kept,
    records: new RunRecords({ values, ...times }),
    alone: isAlone(settings),
    now: Date.now,
    onTrouble,
  });
  return { keptResponses: kept, backgroundRuns };
}

/** No other process has the store. */
function isAlone({ mongodbUri, workers }: Rooms['settings']): boolean {
  return mongodbUri === undefined && workers === 1;
}

/** Keys that are not stored count until they are taken back. */
function stillCalls({ keys, sessions }: Rooms['identity']): (principal: Principal) => boolean | undefined {
  return ({ organisationId, keyId, sessionId, token }) => {
    if (token !== undefined) return undefined;
    if (sessionId !== undefined) {
      const session = sessions.replica.get(organisationId, sessionId);
      return session !== undefined && sessions.principalOf(session) !== undefined;
    }
    const key = keys.replica.get(organisationId, keyId);
    if (key === undefined) return keys.isLent(keyId) ? undefined : false;
    return key.expiresAt === undefined || key.expiresAt > Date.now();
  };
}

function openFiles({ settings, stores, identity, onTrouble }: Rooms): OwnFiles {
  return new OwnFiles({
    documents: stores.documents,
    blobs: stores.blobs,
    maxBytes: settings.fileBytes,
    quotaBytes: settings.workspaceFileBytes,
    keptMs: settings.fileDays === undefined ? undefined : settings.fileDays * 86_400_000,
    organisations: () => identity.directory.organisationIds(),
    alone: isAlone(settings),
    now: Date.now,
    onTrouble,
  });
}

function openUploads({ settings, stores: { documents } }: Rooms, files: OwnFiles): OwnUploads {
  return new OwnUploads({ documents, files, maxBytes: settings.fileBytes, now: Date.now });
}

function openSettling({ stores, identity, ledger, names, log }: Rooms): SettleDeps {
  const { documents, store } = stores;
  const { keys, directory } = identity;
  const { admission, policies } = ledger.limits;
  const onTrouble = (error: unknown, what: string): void => log.warn({ err: error }, what);
  const books = providerBatchBooks({
    admission,
    policies,
    books: ledger.callBooks.books,
    store: store.requestLog,
    names,
    rulesFor: (call, principal) => applying({ keys, directory, policies }, call, principal, undefined),
    principalOf: (organisationId, keyId) => keys.replica.get(organisationId, keyId)?.principal,
    now: Date.now,
  });
  return { notes: new ProviderNotes({ documents, now: Date.now, onTrouble }), books, now: Date.now };
}

function logsDeps({ settings, stores, identity, ledger, watch }: Rooms) {
  const { callBooks } = ledger;
  return {
    store: stores.store.requestLog,
    flush: ledger.flush,
    directory: identity.directory,
    documents: stores.documents,
    prices: callBooks.prices,
    blobs: stores.blobs,
    links: ledger.exports.links,
    keepsBodies: callBooks.keepsBodies,
    keepsMetadata: callBooks.keepsMetadata,
    keepDays: callBooks.keepDays,
    onUsageRefused: watch.onUsageRefused,
    live: ledger.live,
    isShared: settings.mongodbUri !== undefined,
    stillCalls: stillCalls(identity),
    now: Date.now,
  };
}
