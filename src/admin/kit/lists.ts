// Pages of lists: their common parameters and answers.
import type { DocumentPage, DocumentStatus, PageQuery } from '../../store/documents.ts';

/** Elements of a page, where a list has no default of its own. */
export const DEFAULT_PAGE_SIZE = 100;

/** Which page, as list requests carry it. */
export interface PageRequest {
  /** From 0. */
  readonly currentPage?: number | undefined;
  readonly pageSize?: number | undefined;
}

/** The page's place, newest first. */
export function newestFirst({ currentPage, pageSize }: PageRequest): PageQuery {
  return {
    sort: { field: 'createdAt', order: 'desc' },
    page: currentPage ?? 0,
    pageSize: pageSize ?? DEFAULT_PAGE_SIZE,
  };
}

/** The members that every list's answer begins with. */
export function listHead(page: DocumentPage<object>): {
  readonly object: 'list';
  readonly total: bigint;
  readonly totalCapped: boolean;
} {
  return { object: 'list', total: BigInt(page.total), totalCapped: page.totalCapped };
}

/** "active", "archived" or both with a comma between; active when absent. */
export function statusOf(text: string | undefined): DocumentStatus | 'all' {
  const statuses = new Set(text?.split(',') ?? ['active']);
  return statuses.size > 1 ? 'all' : statuses.has('archived') ? 'archived' : 'active';
}
