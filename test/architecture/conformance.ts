// `npm run conformance`: the table of what is tested of each provider, into the guide and onto the terminal.

import { conformanceTable } from './guide-tables/conformance.ts';
import { placeTables } from './guide-tables.ts';

await placeTables();
process.stdout.write(`${conformanceTable()}\n`);
