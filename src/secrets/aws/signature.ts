// The signature of secret managers' requests is the one of all of AWS.
export { type AwsCredentials, type SignOrder, signed } from '../../lib/aws-signature.ts';
