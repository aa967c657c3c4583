// npm run ledger-proof: exactly once, proven. Gateways under the highest rate of calls that the machine gives are killed
// (-9) again and again, and Redis once; then the books are compared with what a provider counted by itself.
//   node test/ledger-proof/proof.ts [--seconds N] [--kill-every N] [--lanes N] [--embedded]
// Prints the reconciliation; the exit code is 1 on any difference.
import { parseArgs } from 'node:util';
import { installServers } from '../support/servers/install.ts';
import { startOwnMongo, startOwnRedis } from '../support/servers.ts';
import { holds, table } from './reconcile.ts';
import { type Proof, type ProofOptions, prove } from './run.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    'kill-every': { type: 'string', default: '5' },
    lanes: { type: 'string', default: '24' },
    embedded: { type: 'boolean', default: false },
  },
});
const say = (line: string): void => console.log(line);
const options = {
  seconds: Number(values.seconds),
  killEvery: Number(values['kill-every']),
  say,
  lanes: Number(values.lanes),
};

async function withServers(): Promise<Proof> {
  installServers();
  const [redis, mongo] = await Promise.all([startOwnRedis(), startOwnMongo()]);
  try {
    if (!redis || !mongo) throw new Error('redis-server and a server of MongoDB’s protocol are needed');
    return await prove({ ...options, servers: { redis, mongo } } satisfies ProofOptions);
  } finally {
    await redis?.stop();
    await mongo?.stop();
  }
}

const { rows, errors } = await (values.embedded ? prove({ ...options, servers: undefined }) : withServers());
console.log(`\n${values.embedded ? 'One embedded process' : 'Three processes on Redis and MongoDB'}\n`);
console.log(table(rows));
const kinds = Map.groupBy(errors, (line) => String((JSON.parse(line) as { msg?: string }).msg));
if (kinds.size > 0) console.log('\nlogged as errors, by how often:');
for (const [what, lines] of kinds) console.log(`${String(lines.length).padStart(6)}  ${what}`);
process.exitCode = holds(rows) ? 0 : 1;
