// Compiles OpenAPI documents, each in a worker of its own that ends with it: documents are seldom stored, and the
// published schemas take memory and a second of a core.
import { Worker } from 'node:worker_threads';
import { fail, invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { CompiledDocument, DocumentFault } from './compile-document.ts';

const LATE_MS = 60_000;
const MOST_AT_ONCE = 2;
let running = 0;

/** @throws GatewayError validation_failed, naming the field; overloaded while others are compiled */
export async function compileInWorker(
  document: JsonObject,
  operations: readonly string[],
): Promise<CompiledDocument> {
  if (running >= MOST_AT_ONCE)
    throw fail('overloaded', 'other OpenAPI documents are being read: call again in a moment');
  running += 1;
  try {
    const compiled = await answerOf(document, operations);
    if ('fault' in compiled) throw invalidField(compiled.fault, compiled.message);
    return compiled;
  } finally {
    running -= 1;
  }
}

function answerOf(
  document: JsonObject,
  operations: readonly string[],
): Promise<CompiledDocument | DocumentFault> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: { document, operations },
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    const unread = { fault: 'document', message: 'cannot be read: it is too large or too deeply nested' };
    const tell = (answer: CompiledDocument | DocumentFault): void => {
      clearTimeout(late);
      void worker.terminate();
      resolve(answer);
    };
    const late = setTimeout(() => tell(unread), LATE_MS);
    worker.once('message', tell);
    worker.once('error', () => tell(unread));
    worker.once('exit', () => tell(unread));
  });
}
