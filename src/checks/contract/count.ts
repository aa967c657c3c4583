// Checks that count something in a text and want the number within a range.
import { examinedTexts } from '../view/examined.ts';
import type { Check } from './check.ts';
import { defineCheck } from './define.ts';
import { count, defaulted, flag } from './fields.ts';
import { judge } from './judge.ts';
import type { Field } from './parameters.ts';

/** What is counted, and what its parameters and its result are called. */
export interface Counting {
  readonly id: string;
  /** The parameters, e.g. `minWords`, `maxWords`. */
  readonly min: string;
  readonly max: string;
  /** Highest number when none is given (the published forms' default). */
  readonly most: number;
  /** The member of the data that holds the number, e.g. `wordCount`. */
  readonly member: string;
  readonly noun: string;
  /** The number may fall as the text goes on: `3.` ends a sentence until it becomes `3.14`. */
  readonly mayFall?: boolean;
  /** What counts. */
  readonly work: 'words' | 'sentences' | 'characters';
}

/** Makes the check. */
export function countingCheck(counting: Counting): Check {
  const { id, min, max, most, member, noun, mayFall = false } = counting;
  const bound = (fallback: number): Field<number | boolean> =>
    defaulted(count(0, Number.MAX_SAFE_INTEGER), fallback);
  const read = (values: Readonly<Record<string, number | boolean>>) => ({
    least: Number(values[min]),
    greatest: Number(values[max]),
    not: values.not === true,
  });
  return defineCheck({
    id,
    events: ['input', 'output'],
    fields: { [min]: bound(0), [max]: bound(most), not: flag() },
    validate(values, fault) {
      const { least, greatest } = read(values);
      if (least > greatest) fault(min, `must not be greater than ${max}`);
    },
    // Only what is too much stays so, however the text goes on.
    reach(values) {
      const { least, not } = read(values);
      if (not || least > 0) return 'whole';
      return mayFall ? 'edge' : 'prefix';
    },
    async run(context, values, { sandbox }) {
      const { least, greatest, not } = read(values);
      const texts = await examinedTexts(context, false, sandbox);
      const numbers = await sandbox.examine(context.traffic, counting.work, texts);
      return judge(texts, not, (_, index) => {
        const number = numbers[index] ?? 0;
        const found = number >= least && number <= greatest;
        return {
          found,
          data: { [member]: number, minCount: least, maxCount: greatest },
          explain: () =>
            `The text has ${number} ${noun}, which is ${found ? 'within' : 'outside'} the range of ${least} to ${greatest}.`,
        };
      });
    },
  });
}
