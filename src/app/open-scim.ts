// SCIM 2.0, with what it needs of the rooms.

import type { ScimDeps } from '../admin/scim/deps.ts';
import { refusal, scimEndpoint } from '../admin/scim/endpoint.ts';
import { toScimError } from '../admin/scim/scim-error.ts';
import { tokenOf } from '../admin/scim/token.ts';
import type { ScimSurface } from '../edge/scim-page.ts';
import { AddressRates } from '../lib/address-rates.ts';
import { clientAddress } from '../lib/client-address.ts';
import type { Settings } from '../settings.ts';

export function openScim(deps: ScimDeps, settings: Settings): ScimSurface {
  const answer = scimEndpoint(deps);
  const rates = new AddressRates(settings.failedCallsPerSecond);
  return {
    async open(authorization) {
      const token = await tokenOf(deps, authorization);
      if (token === undefined) return undefined;
      const { id, organisationId, body } = token;
      const actor = { type: 'api_key', id, name: body.name, keyId: id, role: 'scim' } as const;
      return {
        tokenId: id,
        answer({ requestId, address: clientIp, path, ...call }) {
          const { method } = call;
          const by = { actor, requestId, protocol: 'scim', method, path, clientIp };
          return answer({ ...call, caller: { organisationId, by } });
        },
      };
    },
    refusal: (error) => refusal(toScimError(error)),
    addressOf: ({ socket, headers }) => {
      const forwarded = headers['x-forwarded-for'];
      const list = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
      return clientAddress(socket.remoteAddress ?? '', list, settings.trustedProxies);
    },
    refused: (address) => rates.take(address),
  };
}
