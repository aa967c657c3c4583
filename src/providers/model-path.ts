// A model's name inside a path.
import { invalidField } from '../lib/errors.ts';
import { urlText } from '../lib/url-text.ts';

/**
 * The name with its slashes kept ("meta-llama/Llama-3-8B") and all else escaped.
 * @throws GatewayError `validation_failed` for names that would leave the path ("..", "a//b"), and for
 * what is no Unicode text.
 */
export function modelPath(model: string): string {
  if (!model.isWellFormed()) throw invalidField('model', 'is not well-formed Unicode', 'unicode');
  const segments = model.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw invalidField('model', 'must be names separated by single slashes', 'path');
  }
  return segments.map(urlText).join('/');
}
