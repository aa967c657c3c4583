// Amazon Bedrock Runtime ("API reference", Converse and InvokeModel).
import type { Location, ProviderEntry, ProviderOptions } from '../dialect.ts';
import { AWS_IDENTITY, BEDROCK } from '../options/aws.ts';

export const bedrock: ProviderEntry = {
  id: 'bedrock',
  name: 'Amazon Bedrock',
  dialect: 'bedrock',
  baseUrl: 'https://bedrock-runtime.{aws_region}.amazonaws.com',
  auth: 'aws',
  streamUsage: 'unasked',
  operations: ['chat', 'embeddings', 'rerank', 'images'],
  native: ['converse', 'invokeModel'],
  options: [...AWS_IDENTITY, ...BEDROCK],
  locate,
  prices: ['bedrock', 'bedrock_converse'],
  genAiName: 'aws.bedrock',
};

/** China has its own domain ("AWS service endpoints"). */
function locate({ aws_region: region = '' }: ProviderOptions): Location {
  return region.startsWith('cn-') ? { baseUrl: 'https://bedrock-runtime.{aws_region}.amazonaws.com.cn' } : {};
}
