// Errors of SCIM (RFC 7644, part 3.12).
import { GatewayError, toGatewayError } from '../../lib/errors.ts';

export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'
  | 'invalidVers'
  | 'sensitive';

/** What a caller did wrong, as SCIM tells it. */
export class ScimError extends Error {
  readonly status: number;
  readonly scimType: ScimType | undefined;

  constructor(status: number, detail: string, scimType?: ScimType) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
  }
}

/** 400 with a type. */
export function wrong(scimType: ScimType, detail: string): ScimError {
  return new ScimError(400, detail, scimType);
}

/** The error to answer with, of anything thrown. */
export function toScimError(thrown: unknown): ScimError {
  if (thrown instanceof ScimError) return thrown;
  const error = thrown instanceof GatewayError ? thrown : toGatewayError(thrown);
  if (error.reason === 'conflict') return new ScimError(409, error.message, 'uniqueness');
  if (error.reason === 'version_conflict')
    return new ScimError(409, 'the resource is being changed by others: try again');
  if (error.reason === 'validation_failed' || error.reason === 'malformed_body')
    return wrong(error.reason === 'malformed_body' ? 'invalidSyntax' : 'invalidValue', error.message);
  return new ScimError(error.status, error.message);
}

/** The body of an error answer. */
export function errorBody({ status, message, scimType }: ScimError): object {
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: message,
  };
}
