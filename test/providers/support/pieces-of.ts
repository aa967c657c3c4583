// The pieces of a streamed answer one by one, and whether its runs say the same together as one by one.
import { rawJsonOf } from '../../../src/lib/raw-json.ts';
import { Run } from '../../../src/lib/runs.ts';

/** @throws Error where a run's texts are not those of its events */
export function piecesOf<T>(items: readonly (T | Run<T>)[]): T[] {
  return items.flatMap((item) => {
    if (!(item instanceof Run)) return [item];
    const pieces = Array.from({ length: item.count }, (_, place) => item.at(place));
    const texts = pieces.map((piece) => String(rawJsonOf(piece as object)));
    const lines = texts.map((text) => `data: ${text}\n\n`).join('');
    const written = writtenRun(item, false);
    if (written !== lines) throw new Error(`a run is written as ${written} in place of ${lines}`);
    const named = texts.map((text) => `event: ${typeIn(text)}\ndata: ${text}\n\n`).join('');
    const byNames = writtenRun(item, true);
    if (byNames !== named) throw new Error(`a run is written as ${byNames} in place of ${named}`);
    if (texts.some((text, place) => text !== item.jsonOf(place)))
      throw new Error('a run has other JSON than its events');
    return pieces;
  });
}

/** The events of a run as they are sent. */
export function writtenRun(run: Run<unknown>, named: boolean): string {
  const out = Buffer.alloc(run.room(named));
  return out.toString('utf8', 0, run.write(named, out, 0));
}

function typeIn(text: string): string {
  const { type } = JSON.parse(text) as { type?: string };
  return type ?? 'message';
}
