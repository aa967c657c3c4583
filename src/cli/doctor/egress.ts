// The way out: the settings that name it are read, and a proxy takes connections.
import { readAllowList } from '../../app/addresses.ts';
import type { Check, Finding } from './check.ts';
import { reachable } from './reachable.ts';

export const egress: Check = {
  name: 'egress',
  run: async ({ settings: { egressAllow, httpsProxy } }) => {
    const findings: Finding[] = [];
    try {
      readAllowList(egressAllow);
    } catch (error) {
      findings.push({
        why: error instanceof Error ? error.message : String(error),
        todo: 'Correct the setting.',
      });
    }
    if (httpsProxy === undefined) return { looked: 'no proxy', findings };
    const { hostname, port, protocol, host } = new URL(httpsProxy);
    const why = await reachable(hostname, Number(port) || (protocol === 'https:' ? 443 : 80));
    if (why !== undefined)
      findings.push({
        why: `HTTPS_PROXY: ${host}: ${why}`,
        todo: 'Start the proxy, or correct the setting.',
      });
    return { looked: `the proxy ${host}`, findings };
  },
};
