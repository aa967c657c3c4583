// The mongoose schema of the request log, with its indexes.
import mongoose from 'mongoose';

/** An entry as it is stored: what it is found by, and the whole as JSON text. */
export interface LogRow {
  organisationId: string;
  workspaceId: string;
  createdAt: number;
  id: string;
  statusCode: number;
  traceId: string;
  entry: string;
}

export type LogModel = mongoose.Model<LogRow>;

/** With a dot, which no declared collection's name has. */
const COLLECTION = 'log.entries';
/** Of organisation, time and id. */
export const LOG_KEY_INDEX = 'by_organisation';

/**
 * - `by_organisation` also finds a batch that is sent again: same organisation, time and id.
 * - All go on in the order of pages, so that nothing is sorted.
 */
export function logModel(connection: mongoose.Connection): LogModel {
  if (connection.modelNames().includes(COLLECTION)) return connection.model<LogRow>(COLLECTION);
  const schema = new mongoose.Schema<LogRow>(
    {
      organisationId: { type: String, required: true },
      workspaceId: { type: String, required: true },
      createdAt: { type: Number, required: true },
      id: { type: String, required: true },
      statusCode: { type: Number, required: true },
      traceId: { type: String, required: true },
      entry: { type: String, required: true },
    },
    {
      collection: COLLECTION,
      strict: 'throw',
      strictQuery: 'throw',
      id: false,
      versionKey: false,
      autoIndex: false,
      autoCreate: false,
    },
  );
  const inOrder = { createdAt: 1, id: 1 } as const;
  schema.index({ organisationId: 1, ...inOrder }, { name: LOG_KEY_INDEX, unique: true });
  schema.index({ organisationId: 1, workspaceId: 1, ...inOrder }, { name: 'by_workspace', unique: false });
  schema.index({ organisationId: 1, statusCode: 1, ...inOrder }, { name: 'by_status', unique: false });
  schema.index({ organisationId: 1, traceId: 1, ...inOrder }, { name: 'by_trace', unique: false });
  return connection.model<LogRow>(COLLECTION, schema);
}
