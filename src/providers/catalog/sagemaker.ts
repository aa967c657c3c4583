// Amazon SageMaker Runtime ("API reference", InvokeEndpoint): an endpoint takes whatever its model does, so that its paths
// are passed through, signed.
import type { Location, ProviderEntry, ProviderOptions } from '../dialect.ts';
import { AWS_IDENTITY, SAGEMAKER } from '../options/aws.ts';

export const sagemaker: ProviderEntry = {
  id: 'sagemaker',
  name: 'Amazon SageMaker',
  dialect: 'openai',
  baseUrl: 'https://runtime.sagemaker.{aws_region}.amazonaws.com',
  auth: 'aws',
  signsFor: 'sagemaker',
  streamUsage: 'stream_options',
  operations: [],
  options: [...AWS_IDENTITY, ...SAGEMAKER],
  locate,
  genAiName: 'aws.sagemaker',
};

/** China has its own domain ("AWS service endpoints"). */
function locate({ aws_region: region = '' }: ProviderOptions): Location {
  return region.startsWith('cn-')
    ? { baseUrl: 'https://runtime.sagemaker.{aws_region}.amazonaws.com.cn' }
    : {};
}
