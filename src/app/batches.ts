// The gateway's own batches: their runner, with rows as calls of this process.
import { runBatches } from '../inference/batches/runner.ts';
import type { OwnFiles } from '../inference/files/own-files.ts';
import type { HeaderNames } from '../lib/gateway-headers.ts';
import type { InProcess } from '../rpc/in-process.ts';
import { applying } from '../rpc/interceptors/limits.ts';
import type { Base } from './base.ts';
import { rowCalls } from './batch-rows.ts';
import type { Identity } from './open-identity.ts';
import type { Ledger } from './open-ledger.ts';

interface BatchParts extends Base {
  readonly identity: Identity;
  readonly ledger: Ledger;
  readonly names: HeaderNames;
  readonly files: OwnFiles;
  readonly transport: InProcess;
}

/** @throws GatewayError store_unavailable */
export function openBatches({
  settings,
  stores,
  onTrouble,
  identity,
  ledger,
  names,
  files,
  transport,
}: BatchParts) {
  const { keys, directory } = identity;
  const { admission, holds, policies } = ledger.limits;
  return runBatches({
    feed: stores.feed,
    documents: stores.documents,
    files,
    calls: rowCalls({
      transport,
      names,
      keys,
      admission,
      holds,
      rulesFor: (call, principal) => applying({ keys, directory, policies }, call, principal, undefined),
    }),
    organisations: () => directory.organisationIds(),
    atOnce: settings.batchRows,
    alone: settings.mongodbUri === undefined && settings.workers === 1,
    now: Date.now,
    onTrouble,
  });
}
