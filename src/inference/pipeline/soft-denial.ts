// A denial that the caller is told of by a reply: to a fallback and to retries it is a denial like any other.
import { GatewayError } from '../../lib/errors.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { Served } from './served.ts';

/** The error of a denial, with the reply to give in its place when no fallback follows. */
export class SoftDenial extends GatewayError {
  readonly bound: BoundTarget;
  /** The reply, whole. */
  readonly served: Served<object>;

  constructor({ reason, message, details }: GatewayError, bound: BoundTarget, served: Served<object>) {
    super(reason, message, details);
    this.bound = bound;
    this.served = served;
  }
}
