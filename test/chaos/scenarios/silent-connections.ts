// Strangers who open connections and say nothing, or half a request line.
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayProcess } from '../gateway-process.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const CONNECTIONS = 2000;
const IDLE_MS = 5000;
/** The strangers stay for so long: what their arrival costs is paid once. */
const STAY_MS = 20_000;

const scenario: Scenario = {
  name: 'silent-connections',
  attack: `a stranger opens ${CONNECTIONS} connections and sends nothing, or half a request line`,
  bound:
    'at most 64 MB, and in 20 s 5 % of a core above what the gateway takes without them; callers are answered',
  test: 'test/edge/odd-requests.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway({ GATEWAY_MAX_CONNECTIONS_PER_ADDRESS: '256' });
    // What its start left to do is no part of its idle time.
    await sleep(IDLE_MS);
    const memoryMb = gateway.residentMb();
    const idle = await shareOfCore(gateway, () => sleep(IDLE_MS));
    let answered = false;
    const busy = await shareOfCore(gateway, async () => {
      const sockets = Array.from({ length: CONNECTIONS }, (_, index) => {
        const socket = net.connect(gateway.port, '127.0.0.1');
        socket.on('error', () => {});
        if (index % 2 === 1) socket.write('POST /v1/chat');
        return socket;
      });
      lab.onEnd(() => sockets.forEach((socket) => void socket.destroy()));
      await sleep(STAY_MS / 4);
      answered = await gateway.healthy();
      await sleep((STAY_MS * 3) / 4);
    });
    return [
      isTrue('a caller is answered', answered),
      atMost('memory', gateway.residentMb() - memoryMb, 64, 'MB'),
      atMost(`share of a core, above ${idle.toFixed(1)} % without them`, busy - idle, 5, '%'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;

/** What the gateway takes of a core while that runs, in percent. */
async function shareOfCore(gateway: GatewayProcess, during: () => Promise<unknown>): Promise<number> {
  const cpu = gateway.cpuSeconds();
  const since = performance.now();
  await during();
  return (100 * (gateway.cpuSeconds() - cpu)) / ((performance.now() - since) / 1000);
}
