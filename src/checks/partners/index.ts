// Checks that ask partners' services.
import type { Check } from '../contract/check.ts';
import { aporiaValidateProject } from './aporia.ts';
import { azureContentSafety, azurePii, azureProtectedMaterial, azureShieldPrompt } from './azure.ts';
import { bedrockGuard } from './bedrock.ts';
import { lakeraGuard } from './lakera.ts';
import { mistralModerateContent } from './mistral.ts';
import { pangeaPii, pangeaTextGuard } from './pangea.ts';
import { PATRONUS } from './patronus.ts';
import { promptSecurityPrompt, promptSecurityResponse } from './prompt-security.ts';

/** All of them. */
export const PARTNERS: readonly Check[] = [
  aporiaValidateProject,
  azureContentSafety,
  azurePii,
  azureProtectedMaterial,
  azureShieldPrompt,
  bedrockGuard,
  lakeraGuard,
  mistralModerateContent,
  pangeaPii,
  pangeaTextGuard,
  ...PATRONUS,
  promptSecurityPrompt,
  promptSecurityResponse,
];
