// A model's name inside a path.
import { invalidField } from '../lib/errors.ts';

/**
 * The name with its slashes kept ("meta-llama/Llama-3-8B") and all else escaped.
 * @throws GatewayError `validation_failed` for names that would leave the path ("..", "a//b").
 */
export function modelPath(model: string): string {
  const segments = model.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw invalidField('model', 'must be names separated by single slashes', 'path');
  }
  return segments.map(encodeURIComponent).join('/');
}
