// Validates an OpenAPI document off the event loop: the published schemas take a second to compile.
import { parentPort, workerData } from 'node:worker_threads';
import { Validator } from '@seriousme/openapi-schema-validator';
import { backgroundThread } from '../../lib/background-thread.ts';
import { type CompiledDocument, compileDocument } from './compile-document.ts';

async function told(): Promise<unknown> {
  const { document, operations } = workerData as { document: Record<string, unknown>; operations: string[] };
  const compiled = compileDocument(document as never, operations);
  return 'fault' in compiled ? compiled : judged(document, compiled);
}

async function judged(document: Record<string, unknown>, compiled: CompiledDocument): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(document);
  if (valid) return compiled;
  const [first] = Array.isArray(errors) ? errors : [];
  const where = first === undefined ? '' : `${first.instancePath}: ${first.message}`;
  const why = Array.isArray(errors) ? where : String(errors ?? '');
  return { fault: 'document', message: `is not valid: ${why.slice(0, 300)}` };
}

backgroundThread();
// A failure ends the thread with its error, as the caller expects.
void told().then((answer) => parentPort?.postMessage(answer));
