// Files of the gateway that requests name: replaced for each target by what it can read.
import type { Call } from '../../call/call.ts';
import type { OperationName } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';

/** Finds and replaces them. */
export interface FileInputs {
  /** Whether a request may name one: asked for every call. */
  names(name: OperationName, request: object): boolean;
  /** The request as the target can read it. @throws GatewayError not_found, validation_failed, body_too_large */
  resolved<Request extends object>(
    call: Call,
    bound: BoundTarget,
    name: OperationName,
    request: Request,
  ): Promise<Request>;
}

/** Bound when the methods are composed. */
export interface FileInputsPort {
  current: FileInputs | undefined;
}
