// A model's id, or the ARN of an inference profile, a provisioned or an imported model, as one segment of a path.
import { invalidField } from '../../../lib/errors.ts';
import { urlText } from '../../../lib/url-text.ts';

/** The id with all that a path cannot hold escaped, slashes and colons too. @throws GatewayError `validation_failed` */
export function modelSegment(model: string): string {
  if (!model.isWellFormed()) throw invalidField('model', 'is not well-formed Unicode', 'unicode');
  if (model === '' || model === '.' || model === '..')
    throw invalidField('model', 'must be the id or the ARN of a model', 'path');
  return urlText(model);
}

/** Whether the id is of one of Anthropic's models, in whichever region or profile. */
export function isClaude(model: string): boolean {
  return /(?:^|[./:])anthropic\.|claude/.test(model);
}

/** Whether the id is of one of Amazon's own models. */
export function isNova(model: string): boolean {
  return /(?:^|[./:])amazon\.nova|nova-/.test(model);
}
