// Leases: one owner at a time, with an expiry and a fencing token. A single-flight marker is a lease too.
import { checkId, checkSpan } from './bounds.ts';

export interface LeaseRequest {
  readonly key: string;
  readonly owner: string;
  readonly leaseMs: number;
}

export interface LeaseRelease {
  readonly key: string;
  readonly owner: string;
}

/** An owner that acquires its own live lease again keeps its token and gets the new expiry. */
export interface Lease {
  readonly acquired: boolean;
  /** The id of the holder. */
  readonly owner: string;
  /** Greater than every token given before in the organisation. */
  readonly token: number;
  /** Unix milliseconds of the store. */
  readonly expiresAt: number;
}

export function checkLease(request: LeaseRequest): void {
  checkLeaseRelease(request);
  checkSpan('leaseMs', request.leaseMs);
}

export function checkLeaseRelease(request: LeaseRelease): void {
  checkId('key', request.key);
  checkId('owner', request.owner);
}
