// How an integration's calls leave the gateway: as callers give it, prepared for storage, and as it is shown.
import { create } from '@bufbuild/protobuf';
import {
  type IntegrationNetwork,
  type IntegrationNetworkChange,
  IntegrationNetworkSchema,
} from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import type { StoredNetwork } from '../../access/providers/provider-collections.ts';
import { defined, patch } from '../kit/patch.ts';
import { certificatesOf, checkProof, networkField, privateKeyOf, proxyShown } from './network-checks.ts';

const CLEARABLE = ['client_certificate', 'client_key', 'ca_certificates', 'proxy_url'];
const MOST_CHAINED = 10;
const MOST_AUTHORITIES = 50;
const MASK = '*****';

interface NetworkDeps {
  /** @throws GatewayError host_refused naming `param` for an address that may not be called. */
  readonly checkHost: (url: string, param: string) => void;
}

/** The network after a change; undefined: nothing is left of it. @throws GatewayError validation_failed, host_refused. */
export function changedNetwork(
  { checkHost }: NetworkDeps,
  before: StoredNetwork | undefined,
  change: IntegrationNetworkChange | undefined,
): StoredNetwork | undefined {
  if (change === undefined) return before;
  const fields = patch(
    change.clear.filter((name) => name !== 'masked_client_key'),
    CLEARABLE,
  );
  const { clientCertificate: chain, clientKey: key, caCertificates: authorities, proxyUrl } = change;
  // A masked value may be sent back.
  const proxy = proxyUrl === before?.proxyShown ? undefined : proxyUrl;
  const clientCertificate = fields.optional(
    'client_certificate',
    chain === undefined ? undefined : certificatesOf('client_certificate', chain, MOST_CHAINED),
    before?.clientCertificate,
  );
  // A secret that cannot be opened is not looked at where another takes its place.
  const clientKey =
    key === undefined ? (fields.cleared('client_key') ? undefined : before?.clientKey) : privateKeyOf(key);
  checkProof(clientCertificate, clientKey);
  const noProxy = fields.cleared('proxy_url');
  const made = defined<StoredNetwork>({
    clientCertificate,
    clientKey,
    hasKey: clientKey === undefined ? undefined : true,
    caCertificates: fields.optional(
      'ca_certificates',
      authorities === undefined
        ? undefined
        : certificatesOf('ca_certificates', authorities, MOST_AUTHORITIES),
      before?.caCertificates,
    ),
    proxyUrl: proxy ?? (noProxy ? undefined : before?.proxyUrl),
    proxyShown:
      proxy === undefined ? (noProxy ? undefined : before?.proxyShown) : proxyShown(proxy, checkHost),
  });
  return Object.keys(made).length === 0 ? undefined : made;
}

/** The field by which calls would use, or trust, a new party; undefined: there is none. */
export function newOnTheWay(
  before: StoredNetwork | undefined,
  after: StoredNetwork | undefined,
): string | undefined {
  if (before === after || after === undefined) return undefined;
  const { proxyShown: shown, caCertificates } = after;
  if (shown !== undefined && shown !== before?.proxyShown) return networkField('proxy_url');
  const isNew = caCertificates !== undefined && caCertificates !== before?.caCertificates;
  return isNew ? networkField('ca_certificates') : undefined;
}

/** What is shown of it. */
export function shownNetwork(network: StoredNetwork): IntegrationNetwork {
  const { clientCertificate, hasKey, caCertificates, proxyShown: shown } = network;
  return create(IntegrationNetworkSchema, {
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    ...(hasKey ? { maskedClientKey: MASK } : {}),
    ...(caCertificates === undefined ? {} : { caCertificates }),
    ...(shown === undefined ? {} : { proxyUrl: shown }),
  });
}
