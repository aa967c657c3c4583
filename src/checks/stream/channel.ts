// One text of a stream as it grows: the content of a choice, or its reasoning.
import type { TextSlot } from '../view/traffic.ts';

/** A piece of text within an event of a stream. */
export interface Increment {
  /** The choice, counted from 0. */
  readonly unit: number;
  readonly kind: TextSlot['kind'];
  /** Of a tool call: which one of its choice. */
  readonly call?: number;
  /** Of a tool call: the tool, where the event names it. */
  readonly name?: string;
  readonly text: string;
}

/** Characters of a text that are kept for the end; a check that must see more of it fails as too long. */
const MOST_KEPT = 2_097_153;

/** All counts are in UTF-16 characters. */
export class Channel {
  readonly unit: number;
  readonly kind: TextSlot['kind'];
  name: string;
  /** Characters that have come. */
  length = 0;
  /** Characters that the checks have seen. */
  checked = 0;
  /** Characters that may go out. */
  limit = 0;
  #kept = '';
  /** What has not been checked, and the overlap before it. */
  #tail = '';

  constructor({ unit, kind, name = '' }: Increment) {
    this.unit = unit;
    this.kind = kind;
    this.name = name;
  }

  add({ text, name }: Increment): void {
    this.length += text.length;
    this.#tail += text;
    if (this.#kept.length < MOST_KEPT) this.#kept += text.slice(0, MOST_KEPT - this.#kept.length);
    if (this.name === '' && name !== undefined) this.name = name;
  }

  /** From its beginning. */
  get soFar(): string {
    return this.#kept;
  }

  /** What has not been checked, with as much before it as `settle` left. */
  get window(): string {
    return this.#tail;
  }

  /** Everything that has come is checked; so many characters of it stay for a passage that goes on. */
  settle(overlap: number): void {
    this.checked = this.length;
    this.#tail = overlap === 0 ? '' : this.#tail.slice(-overlap);
  }

  slot(text: string, unit: number): TextSlot {
    const { kind, name } = this;
    const form = kind === 'tool_call' ? 'json_text' : 'text';
    return { path: [], kind, role: 'assistant', unit, text, form, ...(name === '' ? {} : { name }) };
  }
}
