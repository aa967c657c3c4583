// The gateway's word on a config, at the places of its text that it is about.
import { detailOf, wordsOf } from '../api.ts';
import type { Fault } from './editor.ts';
import { spanOf, stepsOf } from './json-place.ts';

/** Faults with their places. A fault of the whole is at the text's beginning. */
export function faultsOf(error: unknown, text: string): Fault[] {
  return (detailOf(error)?.violations ?? []).map(({ field, message }) => {
    const path = stepsOf(field);
    const span = spanOf(text, path[0] === 'config' ? path.slice(1) : path);
    return {
      from: span?.from ?? 0,
      to: span?.to ?? Math.min(1, text.length),
      message: `${field}: ${message}`,
    };
  });
}

/** The same in words, each with its line. */
export function wordsWithLines(error: unknown, text: string): string {
  const faults = faultsOf(error, text);
  if (faults.length === 0) return wordsOf(error);
  return faults
    .map(({ from, message }) => `line ${text.slice(0, from).split('\n').length}: ${message}`)
    .join('\n');
}
