// Options of Amazon's services.
import { type OptionSpec, text, texts } from './spec.ts';

const group = 'bedrock';
const needsKey = { when: { option: 'aws_auth_type', is: ['accessKey'] } };

/** The caller's AWS identity and region. */
export const AWS_IDENTITY: readonly OptionSpec[] = [
  text('aws_auth_type', {
    group,
    effect: 'account',
    required: { stored: true },
    oneOf: ['accessKey', 'assumedRole', 'serviceRole', 'apiKey'],
    keylessWith: ['accessKey', 'assumedRole', 'serviceRole'],
    virtualKey: { preset: 'accessKey' },
  }),
  text('aws_region', { group, effect: 'address', required: {} }),
  text('aws_access_key_id', { group, effect: 'account', required: needsKey }),
  text('aws_secret_access_key', { group, effect: 'account', required: needsKey, secret: true }),
  text('aws_session_token', { group, effect: 'account', secret: true }),
  text('aws_role_arn', {
    group,
    effect: 'account',
    required: { when: { option: 'aws_auth_type', is: ['assumedRole'] } },
  }),
  text('aws_external_id', { group, effect: 'account' }),
];

/** Bedrock: the model, and the objects that files and batches are kept in. */
export const BEDROCK: readonly OptionSpec[] = [
  text('aws_bedrock_model', { group, effect: 'model' }),
  ...texts('aws_s3_bucket aws_s3_object_key', { group, effect: 'account' }),
  text('aws_server_side_encryption', {
    group,
    effect: 'account',
    headers: ['aws-server-side-encryption', 'amz-server-side-encryption'],
  }),
  text('aws_server_side_encryption_kms_key_id', {
    group,
    effect: 'account',
    headers: ['aws-server-side-encryption-kms-key-id', 'amz-server-side-encryption-aws-kms-key-id'],
  }),
];

const sagemaker = (name: string, header: string): OptionSpec =>
  text(`amzn_sagemaker_${name}`, { effect: 'account', sends: { header: `x-amzn-sagemaker-${header}` } });

/** SageMaker: an endpoint's headers ("InvokeEndpoint", request syntax). */
export const SAGEMAKER: readonly OptionSpec[] = [
  sagemaker('custom_attributes', 'custom-attributes'),
  sagemaker('target_model', 'target-model'),
  sagemaker('target_variant', 'target-variant'),
  sagemaker('target_container_hostname', 'target-container-hostname'),
  sagemaker('inference_id', 'inference-id'),
  sagemaker('enable_explanations', 'enable-explanations'),
  sagemaker('inference_component', 'inference-component'),
  sagemaker('session_id', 'session-id'),
  text('amzn_sagemaker_model_name', { effect: 'account' }),
];
