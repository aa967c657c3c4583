// default.allowedRequestTypes: the kind of request is allowed and not blocked. The lists come from the parameters,
// else from the caller's metadata (`supported_endpoints`, `blocked_endpoints`).
import { defineCheck } from './contract/define.ts';
import { defaulted, texts } from './contract/fields.ts';
import type { Fault } from './contract/parameters.ts';
import { REQUEST_TYPES } from './contract/request-types.ts';

const types = () => defaulted(texts({ least: 0, commas: true }), []);

export const allowedRequestTypes = defineCheck({
  id: 'default.allowedRequestTypes',
  events: ['input'],
  fields: { allowedTypes: types(), blockedTypes: types() },
  validate({ allowedTypes, blockedTypes }, fault) {
    requireKnown('allowedTypes', allowedTypes, fault);
    requireKnown('blockedTypes', blockedTypes, fault);
    const both = allowedTypes.filter((type) => blockedTypes.includes(type));
    if (both.length > 0) fault('blockedTypes', `holds ${both.join(', ')}, which allowedTypes holds too`);
  },
  run({ traffic }, parameters) {
    const { requestType, metadata } = traffic;
    const given = parameters.allowedTypes.length > 0 || parameters.blockedTypes.length > 0;
    const allowedTypes = given ? parameters.allowedTypes : split(metadata.supported_endpoints);
    const blockedTypes = given ? parameters.blockedTypes : split(metadata.blocked_endpoints);
    const [allows, blocks] = [allowedTypes.length > 0, blockedTypes.length > 0];
    const verdict = !blockedTypes.includes(requestType) && (!allows || allowedTypes.includes(requestType));
    return {
      verdict,
      data: {
        currentRequestType: requestType,
        ...(allows ? { allowedTypes } : {}),
        ...(blocks ? { blockedTypes } : {}),
        verdict,
        explanation: `Request type "${requestType}" is ${verdict ? 'allowed' : 'not allowed'}.`,
        source: given ? 'parameters' : allows || blocks ? 'metadata' : 'default',
        mode: allows ? (blocks ? 'combined' : 'allowlist') : blocks ? 'blocklist' : 'unrestricted',
      },
    };
  },
});

function requireKnown(name: string, list: readonly string[], fault: Fault): void {
  for (const [index, type] of list.entries()) {
    if (!REQUEST_TYPES.includes(type))
      fault(`${name}[${index}]`, `must be one of ${REQUEST_TYPES.join(', ')}`);
  }
}

function split(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
