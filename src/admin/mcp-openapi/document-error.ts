// What is wrong with a document, and the operations that it has.

/** An operation of the document. */
export interface DocumentOperation {
  /** Its operationId, or its method and path. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary?: string;
}

/** Thrown within a compilation. */
export class DocumentError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
