// The members that all records of the control plane begin with.
import type { Document, DocumentStatus } from '../../store/documents.ts';
import { timeText } from './time.ts';

/** Id, status, and the times in ISO 8601. */
export function recordHead({ id, status, createdAt, updatedAt }: Document<object>): {
  readonly id: string;
  readonly status: DocumentStatus;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
} {
  return { id, status, createdAt: timeText(createdAt), lastUpdatedAt: timeText(updatedAt) };
}
