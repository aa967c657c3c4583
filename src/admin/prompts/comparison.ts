// Where two contents of a prompt differ.

import { arrayOf } from '../../prompts/compiled-prompt.ts';
import type { PromptContent } from '../../prompts/prompt-collections.ts';

const MOST_PLACES = 1000;
/** Members of contents that have other names for callers. */
const NAMES: Readonly<Record<string, string>> = {
  virtualKey: 'virtual_key',
  toolChoice: 'tool_choice',
  isRawTemplate: 'is_raw_template',
};

/** Paths of the differences; messages are compared one by one where both contents have an array of them. */
export function changedPlaces(from: PromptContent, to: PromptContent): readonly string[] {
  const places: string[] = [];
  const walk = (path: string, was: unknown, is: unknown): void => {
    if (places.length === MOST_PLACES || JSON.stringify(was) === JSON.stringify(is)) return;
    if (!isContainer(was) || !isContainer(is) || Array.isArray(was) !== Array.isArray(is)) {
      places.push(path);
      return;
    }
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const step = Array.isArray(was) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      walk(step, own(was, name), own(is, name));
    }
  };
  walk('', membersOf(from), membersOf(to));
  return places;
}

function membersOf(content: PromptContent): Record<string, unknown> {
  const named = Object.entries(content).map(([name, value]) => [NAMES[name] ?? name, value]);
  return { ...Object.fromEntries(named), string: arrayOf(content.string) ?? content.string };
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
