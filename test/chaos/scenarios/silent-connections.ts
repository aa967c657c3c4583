// Strangers who open connections and say nothing, or half a request line.
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const CONNECTIONS = 2000;

const scenario: Scenario = {
  name: 'silent-connections',
  attack: `a stranger opens ${CONNECTIONS} connections and sends nothing, or half a request line`,
  bound: 'at most 64 MB and 5 % of a core; callers are answered',
  test: 'test/edge/odd-requests.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway({ GATEWAY_MAX_CONNECTIONS_PER_ADDRESS: '256' });
    const memoryMb = gateway.residentMb();
    const cpu = gateway.cpuSeconds();
    const since = performance.now();
    const sockets = Array.from({ length: CONNECTIONS }, (_, index) => {
      const socket = net.connect(gateway.port, '127.0.0.1');
      socket.on('error', () => {});
      if (index % 2 === 1) socket.write('POST /v1/chat');
      return socket;
    });
    lab.onEnd(() => sockets.forEach((socket) => void socket.destroy()));
    await sleep(5000);
    const answered = await gateway.healthy();
    const seconds = (performance.now() - since) / 1000;
    return [
      isTrue('a caller is answered', answered),
      atMost('memory', gateway.residentMb() - memoryMb, 64, 'MB'),
      atMost('share of a core', (100 * (gateway.cpuSeconds() - cpu)) / seconds, 5, '%'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
