// Documents for a command that are BSON already. The driver sends such with its own bulk writes (sections of kind 1 of
// OP_MSG) and has no public way to it: where a version of it keeps the class elsewhere, commands carry objects as ever.
// The driver that mongoose has.
import commands from 'mongodb/lib/cmap/commands.js';

/** The driver's class, in its own words. */
interface DocumentSequence {
  /** @param bytes of the document; here of several, one after another: the driver looks at neither */
  push(document: object, bytes: Uint8Array): number;
}

type SequenceClass = new (field: string) => DocumentSequence;

let known: SequenceClass | null | undefined;

/** The value of a command's member `documents`; undefined where the driver has no such thing. */
export function rawDocuments(bytes: Uint8Array): object | undefined {
  known ??= findClass();
  if (known === null) return undefined;
  const sequence = new known('documents');
  sequence.push({}, bytes);
  return sequence;
}

function findClass(): SequenceClass | null {
  const { DocumentSequence } = commands as { DocumentSequence?: unknown };
  return typeof DocumentSequence === 'function' ? (DocumentSequence as SequenceClass) : null;
}
