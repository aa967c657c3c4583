// New connections without end: beyond the rate they are closed, and a caller who has shown a key opens more of them.
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const CONNECTIONS = 3000;
const AT_ONCE = 100;

const scenario: Scenario = {
  name: 'stranger-connections',
  attack: `a stranger opens ${CONNECTIONS} connections, ${AT_ONCE} at once, and asks for something on each`,
  bound:
    'GATEWAY_CONNECTIONS_PER_SECOND of them are answered; a caller with a valid key is served; at most 64 MB',
  test: 'test/edge/floods.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway({ GATEWAY_CONNECTIONS_PER_SECOND: '2' });
    // What ordinary calls take is no part of the attack.
    for (let i = 0; i < 2000; i++)
      await fetch(`${gateway.origin}/v1/models`, { headers: { 'x-gateway-api-key': WORKSPACE_KEY } }).then(
        (answer) => answer.arrayBuffer(),
      );
    await gateway.longestTurnMs();
    const memoryMb = gateway.residentMb();
    const ask = (key: string): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = net.connect(gateway.port, '127.0.0.1');
        let answered = false;
        socket.on('error', () => {});
        socket.on('data', () => {
          answered = true;
          socket.end();
        });
        socket.on('close', () => resolve(answered));
        socket.write(
          `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${key}\r\nconnection: close\r\n\r\n`,
        );
      });
    // The caller's connection stands before the flood.
    const caller = await fetch(`${gateway.origin}/v1/models`, {
      headers: { 'x-gateway-api-key': WORKSPACE_KEY },
    });
    await caller.arrayBuffer();
    const since = performance.now();
    let sent = 0;
    let answered = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (sent++ < CONNECTIONS) if (await ask('wrong-key-0123456789')) answered++;
      }),
    );
    const seconds = (performance.now() - since) / 1000;
    await sleep(1000);
    const served = await ask(WORKSPACE_KEY);
    return [
      atMost(
        `answered of ${CONNECTIONS} in ${seconds.toFixed(1)} s`,
        answered,
        Math.ceil(10 * 2 * (seconds + 11)),
        'connections',
      ),
      isTrue('a caller is served on a new connection', served),
      atMost('memory', gateway.residentMb() - memoryMb, 64, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
