// A file of lines, wherever it is: read whole.
import { readFile, stat } from 'node:fs/promises';
import { fileNumber } from './flight-folder.ts';

export interface LineFile {
  /** As its lines say it. */
  readonly number: number;
  readonly text: () => Promise<string>;
  /** When it was last written, in Unix milliseconds. */
  readonly writtenAt: () => Promise<number>;
}

/** A file of this machine. */
export function ownFile(path: string): LineFile {
  return {
    number: fileNumber(path),
    text: () => readFile(path, 'utf8'),
    writtenAt: async () => (await stat(path)).mtimeMs,
  };
}

/** The copy of another machine's. */
export function copiedFile(number: number, text: string, writtenAt: number): LineFile {
  return { number, text: async () => text, writtenAt: async () => writtenAt };
}
