// A start without the state: budgets must not begin at zero without a word.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { ranFolder, refusedFor, wholeAgain } from '../data-folders.ts';
import type { Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'state-lost',
  attack: 'a start with state.db lost beside existing data',
  bound: 'the start is refused, names the part and changes nothing; mended, books and log are complete',
  test: 'test/store/data-folder.test.ts',
  async run(lab) {
    const ran = await ranFolder(lab);
    const [here, away] = [join(ran.dataDir, 'state.db'), join(lab.folder, 'away')];
    renameSync(here, away);
    const refused = await refusedFor(lab, ran.dataDir, 'state.db');
    const again = await refusedFor(lab, ran.dataDir, 'state.db');
    renameSync(away, here);
    return [refused, again, ...(await wholeAgain(lab, ran))];
  },
};
export default scenario;
