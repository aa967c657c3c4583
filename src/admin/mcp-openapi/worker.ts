// Validates an OpenAPI document off the event loop: the published schemas take a second to compile.
import { parentPort, workerData } from 'node:worker_threads';
import { Validator } from '@seriousme/openapi-schema-validator';
import { backgroundThread } from '../../lib/background-thread.ts';
import { compileDocument } from './compile-document.ts';

backgroundThread();
const { document, operations } = workerData as { document: Record<string, unknown>; operations: string[] };
const compiled = compileDocument(document as never, operations);
if ('fault' in compiled) parentPort?.postMessage(compiled);
else {
  const { valid, errors } = await new Validator().validate(document);
  const [first] = Array.isArray(errors) ? errors : [];
  const where = first === undefined ? '' : `${first.instancePath}: ${first.message}`;
  const told = Array.isArray(errors) ? where : String(errors ?? '');
  parentPort?.postMessage(
    valid ? compiled : { fault: 'document', message: `is not valid: ${told.slice(0, 300)}` },
  );
}
