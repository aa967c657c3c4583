// Values with versions, written by compare-and-set.
import { BOUNDS, checkId, checkLength, checkWhole } from './bounds.ts';

export interface ValueRequest {
  readonly key: string;
}

/** Version 0: no value. */
export interface Value {
  readonly version: number;
  readonly value: string | undefined;
}

/** Undefined as the value removes it; its version goes on rising, so that an old one never fits again. */
export interface ValueWrite {
  readonly key: string;
  readonly version: number;
  readonly value: string | undefined;
}

/** What is there now, and whether this call wrote it. */
export interface ValueWritten extends Value {
  readonly written: boolean;
}

export function checkValue(request: ValueRequest): void {
  checkId('key', request.key);
}

export function checkValueWrite(request: ValueWrite): void {
  checkId('key', request.key);
  checkWhole('version', request.version, 0, Number.MAX_SAFE_INTEGER - 1);
  if (request.value !== undefined) checkLength('value', request.value, BOUNDS.value);
}
