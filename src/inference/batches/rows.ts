// The rows of a batch's input: each line is one, as JSON.
import { isObject } from '../../providers/json-object.ts';
import type { BatchFault } from './collection.ts';
import type { TextLine } from './lines.ts';

/** A request of a batch. */
export interface BatchRow {
  /** From 1. */
  readonly line: number;
  readonly customId: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Of the whole line. */
  readonly bytes: number;
}

/** A line: a row, or what is wrong with it. */
export type BatchLine =
  | { readonly line: number; readonly row: BatchRow }
  | {
      readonly line: number;
      readonly row?: undefined;
      readonly customId: string | null;
      readonly fault: BatchFault;
    };

const MAX_ID = 512;

/** Reads lines as rows for one endpoint. */
export class RowReader {
  readonly #endpoint: string;
  readonly #seen = new Map<string, number>();

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  read({ line, text, bytes }: TextLine): BatchLine {
    let customId: string | null = null;
    const bad = (param: string, message: string): BatchLine => ({
      line,
      customId,
      fault: faultAt(line, param, message),
    });
    if (text === undefined) return bad('', 'is too long, or has too many members and items');
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      return bad('', 'is no JSON');
    }
    if (!isObject(json)) return bad('', 'must be an object');
    const { custom_id: id, method, url, body } = json;
    if (typeof id !== 'string' || id.length === 0 || id.length > MAX_ID)
      return bad('custom_id', `must be a text of 1 to ${MAX_ID} characters`);
    customId = id;
    const before = this.#seen.get(id);
    if (before !== undefined)
      return bad('custom_id', `is the one of line ${before}, too; each must be its own`);
    this.#seen.set(id, line);
    if (method !== undefined && method !== 'POST') return bad('method', 'must be POST');
    if (url !== this.#endpoint) return bad('url', `must be ${this.#endpoint}, as the batch says`);
    if (!isObject(body)) return bad('body', 'must be an object');
    if (body.stream === true) return bad('body.stream', 'must not be true: answers of a batch are whole');
    if (body.background === true)
      return bad('body.background', 'must not be true: rows of a batch are made in the background already');
    return { line, row: { line, customId: id, body, bytes } };
  }
}

/** A fault that names its line and member. */
export function faultAt(line: number, param: string, message: string, code = 'invalid_request'): BatchFault {
  const what = param === '' ? `line ${line}` : `line ${line}: ${param}`;
  const text = param === '' ? `${what}: the line ${message}` : `${what}: ${message}`;
  return { code, message: text, line, ...(param === '' ? {} : { param }) };
}
