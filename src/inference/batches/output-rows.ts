// Rows of what a provider's own batch has written: who is answered, by which model, and what was used.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject, objectOf, parsedObject, textOf } from '../../providers/json-object.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import { readUsage, usageIn } from '../../providers/usage/tap.ts';
import { codec } from '../../rest/codec.ts';
import type { TextLine } from './lines.ts';

/** What one row came to. */
export interface OutputRow {
  /** Of the file, from 1. */
  readonly line: number;
  readonly customId: string;
  /** 0: the provider did not run it. */
  readonly status: number;
  /** As the answer names it; empty where it names none. */
  readonly model: string;
  readonly usage: UsageReport;
}

/** Whether a file that begins with the line is the output of a batch. */
export function isOutput({ text }: TextLine): boolean {
  const json = text === undefined ? undefined : parsedObject(text);
  if (json === undefined || typeof json.custom_id !== 'string') return false;
  const { response, error } = json;
  if (isObject(response)) return typeof response.status_code === 'number' || isObject(response.body);
  return response === null && isObject(error);
}

/** Whether a line of an output is a row: of a batch in OpenAI's form, or of Anthropic's results. */
export function isRow(line: TextLine): boolean {
  const json = line.text === undefined ? undefined : parsedObject(line.text);
  const isMessages = typeof json?.custom_id === 'string' && typeof objectOf(json.result)?.type === 'string';
  return isMessages || isOutput(line);
}

/** Reads a row. One that cannot be read has no usage, and counts as answered: it is paid for. */
export function outputRow({ line, text }: TextLine): OutputRow {
  const json: JsonObject = (text === undefined ? undefined : parsedObject(text)) ?? {};
  const result = objectOf(json.result);
  const response = objectOf(json.response);
  const body = objectOf(response?.body) ?? objectOf(result?.message);
  const customId = textOf(json.custom_id) ?? '';
  const counts = body && usageIn(body);
  return {
    line,
    customId: customId.slice(0, MAX_ID),
    status:
      result !== undefined && response === undefined ? statusOfResult(result) : statusOf(json, response),
    model: textOf(body?.model) ?? '',
    usage: counts && readUsage(codec, counts),
  };
}

/** Of a caller's name for a row that is kept, in characters. */
const MAX_ID = 512;

function statusOf(json: JsonObject, response: JsonObject | undefined): number {
  const said = response?.status_code;
  if (typeof said === 'number' && Number.isSafeInteger(said) && said >= 0 && said <= 999) return said;
  if (response !== undefined) return 200;
  return isObject(json.error) ? 0 : 200;
}

/** Of a row of Anthropic's: succeeded, errored, canceled or expired. */
function statusOfResult({ type, error }: JsonObject): number {
  if (type === 'succeeded') return 200;
  if (type !== 'errored') return 0;
  return objectOf(objectOf(error)?.error)?.type === 'invalid_request_error' ? 400 : 500;
}
