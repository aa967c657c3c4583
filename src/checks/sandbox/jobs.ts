// What a worker does with a job.
import { CheckFailure } from '../contract/check.ts';
import { jsonIn } from './json-in-text.ts';
import type { Job } from './protocol.ts';
import type { Pattern, PatternMatch, Replaced } from './sandbox.ts';
import { validateTexts } from './schemas.ts';

/** Characters of a match or a group that are given back. */
const LONGEST_EXCERPT = 1000;
/** Characters of all replaced texts together. */
const LONGEST_RESULT = 8_388_608;

/** Does the job. @throws CheckFailure */
export function runJob(job: Job): unknown {
  switch (job.kind) {
    case 'match':
      return job.texts.map((text) => first(compile(job.pattern), text));
    case 'replace':
      return replaceAll(job.pattern, job.texts, job.by);
    case 'validate':
      return validateTexts(job.schema, job.texts);
    case 'includes':
      return job.texts.map((text) => job.words.filter((word) => text.includes(word)));
    case 'find':
      return job.texts.map(jsonIn);
  }
}

/** Compiled anew for every text: the flags g and y leave a place in the pattern. */
function compile({ source, flags }: Pattern): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw new CheckFailure('InvalidPatternError', error instanceof Error ? error.message : 'cannot be read');
  }
}

function first(pattern: RegExp, text: string): PatternMatch | null {
  const found = pattern.exec(text);
  if (found === null) return null;
  const groups = Object.entries(found.groups ?? {}).map(([name, group]) => [name, excerpt(group)] as const);
  return {
    at: found.index,
    text: excerpt(found[0]),
    groups: Object.fromEntries(groups),
    captures: found.slice(1, 51).map(excerpt),
  };
}

function excerpt(text: string | undefined): string {
  return (text ?? '').slice(0, LONGEST_EXCERPT);
}

function replaceAll(pattern: Pattern, texts: readonly string[], by: string): Replaced[] {
  let length = 0;
  return texts.map((text) => {
    let count = 0;
    for (const _ of pattern.flags.includes('g')
      ? text.matchAll(compile(pattern))
      : [first(compile(pattern), text)]) {
      if (_ !== null) count++;
    }
    const replaced = count === 0 ? text : text.replace(compile(pattern), by);
    length += replaced.length;
    if (length > LONGEST_RESULT) {
      throw new CheckFailure(
        'InputTooLongError',
        `the replaced text has more than ${LONGEST_RESULT} characters`,
      );
    }
    return { text: replaced, count };
  });
}
