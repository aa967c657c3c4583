// Makes changes until it is killed; each that was acknowledged is a line of its output.
import { createChain } from '../../../src/access/audit/chain.ts';
import { createChanges } from '../../../src/access/audit/changes.ts';
import { insertOperation } from '../../../src/store/documents.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { callBy } from './calls.ts';
import { killCollections, things } from './kill-things.ts';

const dataDir = process.argv[2] as string;
const { documents } = await openSqliteStore({ dataDir, collections: killCollections });
const changes = createChanges(createChain({ documents }), { now: Date.now, addressOf: () => '' });
const scope = { organisationId: 'org', workspaceId: undefined };

async function writer(which: number): Promise<never> {
  for (let i = 0; ; i++) {
    const id = `thing ${process.pid} ${which} ${i}`;
    const body = { name: id };
    await changes.commit(callBy('org'), scope, [insertOperation(things, { id, createdAt: 1, body })], {
      id,
      name: id,
      after: body,
    });
    process.stdout.write(`${id}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, which) => writer(which)));
