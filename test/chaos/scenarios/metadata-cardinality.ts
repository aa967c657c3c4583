// A caller who invents values of the metadata that a rate-limit policy counts by.
import { startFakeProvider } from '../../support/fake-provider.ts';
import { send } from '../../support/front-door.ts';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { chatHeaders } from '../../support/limits-client.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const VALUES = 12_000;
/** Groups that a policy counts apart (policy-set.ts). */
const GROUPS = 10_000;
const AT_ONCE = 48;

const scenario: Scenario = {
  name: 'metadata-cardinality',
  attack: `a caller sends ${VALUES} values of the metadata that a policy counts by`,
  bound:
    'at most 10,000 groups and 6 KB for each new value, log entry included; further values share one limit',
  test: 'test/store/shared-pools.test.ts',
  async run(lab) {
    const [gateway, provider] = await Promise.all([lab.startGateway(), startFakeProvider()]);
    lab.onEnd(() => provider.close());
    const made = await send(gateway, 'POST', '/policies/rate-limits', {
      body: {
        conditions: [{ key: 'metadata.user', value: '*' }],
        group_by: [{ key: 'metadata.user' }],
        type: 'requests',
        unit: 'rpd',
        value: 1,
      },
    });
    // The first call of a value is passed, and the second one refused.
    const call = async (metadata: object): Promise<number> => {
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          ...chatHeaders(provider, WORKSPACE_KEY),
          'x-gateway-metadata': JSON.stringify(metadata),
        },
        body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
      });
      await answer.arrayBuffer();
      provider.seen.length = 0;
      return answer.status;
    };
    const flood = async (metadataOf: (i: number) => object): Promise<Map<number, number>> => {
      const statuses = new Map<number, number>();
      let next = 0;
      const work = async (): Promise<void> => {
        while (next < VALUES) {
          const status = await call(metadataOf(next++));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      return statuses;
    };
    // The same traffic without groups first: what the log and the connections take is no part of the attack.
    await flood(() => ({ team: 'a' }));
    const before = gateway.residentMb();
    await gateway.longestTurnMs();
    const statuses = await flood((i) => ({ user: `invented-${i}` }));
    const admitted = statuses.get(200) ?? 0;
    return [
      isTrue('the policy is made', made.status === 200, String(made.status)),
      isTrue(
        'groups beyond the bound share one limit',
        admitted === GROUPS + 1,
        `${admitted} admitted, ${statuses.get(429) ?? 0} refused`,
      ),
      atMost('memory for each value', ((gateway.residentMb() - before) * 1024) / VALUES, 6, 'KB'),
      isTrue('a known value is refused as before', (await call({ user: 'invented-1' })) === 429),
      isTrue('callers without the metadata are answered', (await call({})) === 200),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
