// Exports as callers see them.
import { create } from '@bufbuild/protobuf';
import {
  type LogExport,
  LogExportFiltersSchema,
  LogExportSchema,
} from '../../../gen/gateway/admin/v2/log_exports_pb.ts';
import type { LogExportBody } from '../../ledger/exports/collection.ts';
import { FILE_MS } from '../../ledger/exports/runner.ts';
import { codec } from '../../rest/codec.ts';
import type { Document } from '../../store/documents.ts';
import { defined } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';

export function logExportRecord(document: Document<LogExportBody>): LogExport {
  const { id, organisationId, workspaceId, createdAt, updatedAt, body } = document;
  const { filters, requestedData, status, description, createdBy, run } = body;
  const done = status === 'success' ? run?.endedAt : undefined;
  return create(LogExportSchema, {
    id,
    organisationId,
    status,
    createdBy,
    requestedData: [...requestedData],
    object: 'export',
    filters: codec.decode(LogExportFiltersSchema, filters),
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    ...defined({
      workspaceId,
      description,
      error: run?.error,
      totalRecords: run && BigInt(run.rows),
      totalBytes: run && BigInt(run.bytes),
      expiresAt: done === undefined ? undefined : timeText(done + FILE_MS),
    }),
  });
}
