// An ordinary key has the sentences of texts counted that hold almost nothing but ends of sentences.
import { countUnderAttack } from '../counting.ts';
import type { Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'sentence-count',
  attack: 'an ordinary key sends 2 MB of dots, list numbers and odd signs through 200 sentenceCount checks',
  bound: 'each call ends within 5 s of a worker’s time; no turn over 50 ms',
  test: 'test/checks/closed.test.ts',
  run: (lab) =>
    countUnderAttack(lab, 'default.sentenceCount', { maxSentences: 9_999_999 }, [
      '.'.repeat(2_000_000),
      '. ! ? '.repeat(330_000),
      '1. '.repeat(660_000),
      '\u3002a'.repeat(1_000_000),
    ]),
};
export default scenario;
