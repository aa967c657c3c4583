// What a worker does with a job.
import { CheckFailure } from '../contract/check.ts';
import { excerptOfText, excerptOfValue } from './excerpt.ts';
import { jsonIn } from './json-in-text.ts';
import type { Job } from './protocol.ts';
import { replaceAll } from './replace.ts';
import type { FoundJson, Pattern, PatternMatch } from './sandbox.ts';
import { validateTexts } from './schemas.ts';
import { plainLook, wordsIn } from './text/plain-look.ts';
import { examine } from './text-work.ts';

/** Does the job. @throws CheckFailure */
export function runJob(job: Job): unknown {
  switch (job.kind) {
    case 'match':
      return job.texts.map((text) => {
        const found = first(compile(job.pattern), text);
        const look = found === null && job.twice ? plainLook(text) : text;
        return look === text ? found : first(compile(job.pattern), look);
      });
    case 'replace':
      return replaceAll(() => compile(job.pattern), job.pattern, job.texts, job.by);
    case 'validate':
      return validateTexts(job.schema, job.texts);
    case 'includes':
      return job.texts.map((text) => wordsIn(text, job.words, job.twice));
    case 'find':
      return job.texts.map((text) => jsonIn(text).map((value) => found(value, job.keys)));
    case 'examine':
      return examine(job.work, job.texts);
  }
}

function found(value: unknown, keys: readonly string[]): FoundJson {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return {
    present: isObject ? keys.filter((key) => Object.hasOwn(value, key)) : undefined,
    value: excerptOfValue(value),
  };
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
  const groups = Object.entries(found.groups ?? {}).map(
    ([name, group]) => [name, excerptOfText(group)] as const,
  );
  return {
    at: found.index,
    text: excerptOfText(found[0]),
    groups: Object.fromEntries(groups),
    captures: found.slice(1, 51).map(excerptOfText),
  };
}
