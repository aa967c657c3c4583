// Headers of the dialect (OpenAI API reference, "Authentication": organization and project).
import type { Target } from '../../dialect.ts';
import { optionHeaders } from '../../option-headers.ts';

const HEADERS = Object.freeze({
  openai_organization: 'openai-organization',
  openai_project: 'openai-project',
  openai_beta: 'openai-beta',
});

/** Flat pairs that every request of the dialect carries: none without options. */
export function headers(target: Target): readonly string[] {
  return optionHeaders(target.options, HEADERS);
}
