// Whole requests without a valid key, as many as can be sent: after the burst they cost little, and callers are served.
import http from 'node:http';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const REQUESTS = 20_000;
const AT_ONCE = 50;

const scenario: Scenario = {
  name: 'stranger-requests',
  attack: `a stranger sends ${REQUESTS} whole requests with wrong keys and with none, ${AT_ONCE} at once, while a caller behind the same address works`,
  bound:
    'all but GATEWAY_FAILED_CALLS_PER_SECOND are 429; every call with a valid key is answered; at most 64 MB',
  test: 'test/edge/floods.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway({ GATEWAY_FAILED_CALLS_PER_SECOND: '20' });
    // What ordinary calls take is no part of the attack.
    for (let i = 0; i < 2000; i++)
      await fetch(`${gateway.origin}/v1/models`, { headers: { 'x-gateway-api-key': WORKSPACE_KEY } }).then(
        (answer) => answer.arrayBuffer(),
      );
    await gateway.longestTurnMs();
    const memoryMb = gateway.residentMb();
    const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
    lab.onEnd(() => agent.destroy());
    const ask = (key: string | undefined): Promise<number> =>
      new Promise((resolve) => {
        const headers = key === undefined ? {} : { 'x-gateway-api-key': key };
        http
          .get({ port: gateway.port, path: '/v1/models', agent, headers }, (res) => {
            res.resume();
            resolve(res.statusCode ?? 0);
          })
          .on('error', () => resolve(0));
      });
    const since = performance.now();
    const counts = new Map<number, number>();
    let sent = 0;
    const stranger = async (): Promise<void> => {
      while (sent++ < REQUESTS) {
        const status = await ask(sent % 2 ? undefined : `wrong-key-${sent}-0123456789`);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    };
    let flooded = true;
    const flood = Promise.all(Array.from({ length: AT_ONCE }, stranger)).then(() => {
      flooded = false;
    });
    const good: number[] = [];
    while (flooded) {
      const answer = await fetch(`${gateway.origin}/v1/models`, {
        headers: { 'x-gateway-api-key': WORKSPACE_KEY },
      });
      good.push(answer.status);
      await answer.arrayBuffer();
    }
    await flood;
    const seconds = (performance.now() - since) / 1000;
    const told = [...counts].map(([status, count]) => `${count} x ${status}`).join(', ');
    return [
      atMost(
        `401 in ${seconds.toFixed(1)} s (${told})`,
        counts.get(401) ?? 0,
        Math.ceil(20 * (seconds + 12)),
        'answers',
      ),
      isTrue(
        'every call with a valid key is answered',
        good.every((status) => status === 200),
        `${good.length} calls`,
      ),
      atMost('memory', gateway.residentMb() - memoryMb, 64, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
