// Azure AI Content Safety and Language ("Content Safety REST API", 2024-09-01; "Analyze text", 2024-11-01).
import { urlText } from '../../lib/url-text.ts';
import { count, defaulted, flag, text, texts } from '../contract/fields.ts';
import { type Fault, isObject } from '../contract/parameters.ts';
import type { JsonObject } from '../view/traffic.ts';
import { credentials, endpoint, host, key } from './fields.ts';
import { definePartner, type Question, unreadable } from './partner.ts';

/** Characters of a text ("Input requirements" of Content Safety), and of a document ("Data and service limits" of Language). */
const LONGEST = 10_000;
const LONGEST_DOCUMENT = 5_120;

const SHARED = {
  credentials: credentials({ resourceName: host(), apiKey: key, endpoint }),
  apiVersion: defaulted(text(64), '2024-09-01'),
};

interface Azure {
  readonly credentials: {
    readonly resourceName: string | undefined;
    readonly apiKey: string;
    readonly endpoint: string | undefined;
  };
  readonly apiVersion: string;
}

function question({ credentials: given, apiVersion }: Azure, path: string, body: unknown): Question {
  const base =
    given.endpoint?.replace(/\/+$/, '') ?? `https://${given.resourceName ?? ''}.cognitiveservices.azure.com`;
  return {
    url: `${base}${path}?api-version=${urlText(apiVersion)}`,
    headers: { 'ocp-apim-subscription-key': given.apiKey },
    body,
  };
}

function placed({ credentials: given }: Azure, fault: Fault): void {
  if (given.endpoint === undefined && given.resourceName === undefined)
    fault('credentials.resourceName', 'is required, or credentials.endpoint in its place');
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Hate, self-harm, sexual content and violence by severity, and words of blocklists. */
export const azureContentSafety = definePartner({
  id: 'azure.contentSafety',
  longest: LONGEST,
  validate: placed,
  fields: {
    ...SHARED,
    categories: texts({ least: 0, most: 20 }),
    severity: defaulted(count(0, 7), 2),
    blocklistNames: texts({ least: 0, most: 50 }),
  },
  ask(value, { categories, blocklistNames, ...azure }) {
    return question(azure, '/contentsafety/text:analyze', {
      text: value,
      ...(categories === undefined || categories.length === 0 ? {} : { categories }),
      ...(blocklistNames === undefined || blocklistNames.length === 0 ? {} : { blocklistNames }),
      outputType: 'FourSeverityLevels',
    });
  },
  judge({ categoriesAnalysis, blocklistsMatch }, { severity }) {
    if (!Array.isArray(categoriesAnalysis)) throw unreadable('azure.contentSafety', 'categoriesAnalysis');
    const found = objects(categoriesAnalysis).filter((one) => Number(one.severity ?? 0) >= severity);
    const blocked = objects(blocklistsMatch);
    return {
      verdict: found.length === 0 && blocked.length === 0,
      data: {
        categoriesAnalysis,
        blocklistsMatch: blocked.map(({ blocklistName }) => blocklistName ?? null),
      },
    };
  },
});

/** Attacks on the prompt. */
export const azureShieldPrompt = definePartner({
  id: 'azure.shieldPrompt',
  longest: LONGEST,
  events: ['input'],
  validate: placed,
  fields: SHARED,
  ask: (value, azure) =>
    question(azure, '/contentsafety/text:shieldPrompt', { userPrompt: value, documents: [] }),
  judge({ userPromptAnalysis: prompt, documentsAnalysis }) {
    if (!isObject(prompt) || typeof prompt.attackDetected !== 'boolean')
      throw unreadable('azure.shieldPrompt', 'userPromptAnalysis');
    const attacked =
      prompt.attackDetected || objects(documentsAnalysis).some((one) => one.attackDetected === true);
    return { verdict: !attacked, data: { attackDetected: attacked } };
  },
});

/** Texts that are others' works. */
export const azureProtectedMaterial = definePartner({
  id: 'azure.protectedMaterial',
  longest: LONGEST,
  events: ['output'],
  validate: placed,
  fields: SHARED,
  ask: (value, azure) => question(azure, '/contentsafety/text:detectProtectedMaterial', { text: value }),
  judge({ protectedMaterialAnalysis: analysis }) {
    if (!isObject(analysis) || typeof analysis.detected !== 'boolean')
      throw unreadable('azure.protectedMaterial', 'protectedMaterialAnalysis');
    return { verdict: !analysis.detected, data: { detected: analysis.detected } };
  },
});

/** Personal data, which may be taken out. */
export const azurePii = definePartner({
  id: 'azure.pii',
  longest: LONGEST_DOCUMENT,
  redacts: true,
  validate: placed,
  fields: {
    ...SHARED,
    apiVersion: defaulted(text(64), '2024-11-01'),
    redact: flag(),
    language: defaulted(text(35), 'en'),
    categories: texts({ least: 0, most: 200 }),
    domain: defaulted(text(64), 'none'),
    modelVersion: defaulted(text(64), 'latest'),
  },
  ask(value, { language, categories, domain, modelVersion, ...azure }) {
    return question(azure, '/language/:analyze-text', {
      kind: 'PiiEntityRecognition',
      parameters: {
        domain,
        modelVersion,
        ...(categories === undefined || categories.length === 0 ? {} : { piiCategories: categories }),
      },
      analysisInput: { documents: [{ id: '1', text: value, language }] },
    });
  },
  judge({ results }) {
    const [document] = isObject(results) ? objects(results.documents) : [];
    if (document === undefined || !Array.isArray(document.entities))
      throw unreadable('azure.pii', 'documents');
    const found = objects(document.entities);
    const { redactedText } = document;
    return {
      verdict: found.length === 0,
      data: { categories: [...new Set(found.map(({ category }) => category ?? null))], count: found.length },
      redacted: typeof redactedText === 'string' ? redactedText : undefined,
    };
  },
});
