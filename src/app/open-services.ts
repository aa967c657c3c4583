// The services of the contract, with what each needs of the rooms.

import { jwksUriCheck } from '../access/jwt/jwks-uri.ts';
import { makeKey } from '../access/keys.ts';
import { guardrailFault } from '../admin/guardrails/usage.ts';
import type { PromptsDeps } from '../admin/prompts/deps.ts';
import { promptRuns } from '../inference/prompts.ts';
import { KeptResponses } from '../inference/responses/kept-responses.ts';
import { PromptCatalogue } from '../prompts/prompt-catalogue.ts';
import { providerById } from '../providers/catalog/registry.ts';
import { check } from '../rpc/interceptors/validate.ts';
import type { contractValidator } from '../rpc/validator.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';
import type { Ledger } from './open-ledger.ts';
import type { OpenPipeline } from './open-pipeline.ts';
import type { Replicas } from './open-replicas.ts';
import { registrations } from './services.ts';
import type { Watch } from './telemetry.ts';

interface Rooms extends Base {
  readonly identity: Identity;
  readonly replicas: Replicas;
  readonly ledger: Ledger;
  readonly opened: OpenPipeline;
  readonly watch: Watch;
  readonly validator: ReturnType<typeof contractValidator>;
  readonly allow: Parameters<typeof jwksUriCheck>[1];
  /** Where people reach the gateway: asked when it listens. */
  readonly publicUrl: () => string;
}

/** `foresee` is what limits ask of prompts before a call runs. */
export function openServices(rooms: Rooms) {
  const { stores, replicas, opened, validator } = rooms;
  const book = new PromptCatalogue(replicas.prompts, stores.documents);
  const messageRules: PromptsDeps['messageRules'] = (desc, message) => check(validator, desc, message);
  const runs = promptRuns(opened.pipeline, { book, messageRules });
  const { auditLog, directory } = rooms.identity;
  const audit = { documents: stores.documents, directory, flush: auditLog.flush, now: Date.now };
  const keptResponses = new KeptResponses({
    values: stores.store.kept,
    secret: stores.hashSecret,
    keptMs: rooms.settings.responseDays * 86_400_000,
    now: Date.now,
    onTrouble: (error) => rooms.log.warn({ err: error }, 'a response could not be kept'),
  });
  const identity = { runs, book, messageRules, keptResponses, ...identityDeps(rooms) };
  return {
    foresee: runs.foresee,
    services: registrations(opened.pipeline, logsDeps(rooms), identity, audit),
  };
}

function logsDeps({ stores, identity, ledger, watch }: Rooms) {
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
    now: Date.now,
  };
}

type IdentityDeps = Omit<
  Parameters<typeof registrations>[2],
  'runs' | 'book' | 'messageRules' | 'keptResponses'
>;

function identityDeps({ stores, log, identity, replicas, ledger, opened, ...rooms }: Rooms): IdentityDeps {
  const { documents, hasher } = stores;
  const { dialer, directory, auditLog } = identity;
  const { providers, secretReferences } = replicas;
  const { plans, secrets, pipeline } = opened;
  const { mailer, callBooks, limits, usage, reRates } = ledger;
  return {
    storedProvider: plans.resolveProvider,
    savedConfigs: replicas.configs,
    aliases: replicas.aliases,
    rules: {
      plans: pipeline.planner.deps,
      resolveProvider: plans.resolveProvider,
      guardrailFault: (tenant, id, event) => guardrailFault(documents, tenant, id, event),
    },
    documents,
    changes: auditLog.changes,
    directory,
    usage,
    groups: limits.groups,
    reRates,
    now: Date.now,
    replica: providers,
    providerById,
    checkHost: (url, param) => dialer.check(url, param),
    secrets,
    secretUsers: [{ firstUserOf: (organisationId, { id }) => providers.userOfSecret(organisationId, id) }],
    secretReferences,
    prices: callBooks.prices,
    hasher,
    makeKey: (key) => makeKey(hasher, key, Date.now()),
    checkUri: jwksUriCheck(dialer, rooms.allow),
    publicUrl: rooms.publicUrl,
    mail:
      mailer &&
      ((mail) => {
        mailer.send(mail).catch((error) => log.error({ err: error }, 'a mail could not be sent'));
      }),
  };
}
