// How long the messages of an operation may be.
import { type DescMethod, hasOption } from '@bufbuild/protobuf';
import { long_body, Plane, plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { optionOf } from '../lib/contract-options.ts';

/** Of the control plane, where no message needs more: decoding and judging 4 MiB is a short turn of the event loop. */
const CONTROL_BYTES = 4 * 1024 * 1024;

/** The longest message in bytes, over every protocol. Read once per method. @param limit that of the process */
export function bodyLimitOf(method: DescMethod, limit: number): number {
  return isControl(method) && !optionOf(method, long_body) ? Math.min(limit, CONTROL_BYTES) : limit;
}

/** Whether a method is the control plane's; those of gRPC's own services are not. */
export function isControl({ parent }: DescMethod): boolean {
  return hasOption(parent, plane) && optionOf(parent, plane) === Plane.CONTROL;
}
