// An object store as one setting: https://ACCESS_KEY_ID:SECRET@host[:port]/bucket[/prefix][?region=…]
import type { AwsCredentials } from './aws-signature.ts';

/** Where objects are. */
export interface S3Place {
  /** Scheme, host and port. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Before all keys; empty, or ends in a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly credentials: AwsCredentials;
}

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,254}$/;

/** @throws Error saying what it must be */
export function readS3Place(text: string): S3Place {
  const url = URL.parse(text);
  const [bucket = '', ...folders] = url?.pathname.split('/').filter((part) => part !== '') ?? [];
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  const [accessKeyId, secretAccessKey] = [url?.username ?? '', url?.password ?? ''].map(decodeURIComponent);
  if (!isWeb || !accessKeyId || !secretAccessKey || ![bucket, ...folders].every((part) => NAME.test(part)))
    throw new Error(
      'must be https://ACCESS_KEY_ID:SECRET@host/bucket, with a prefix and ?region= where needed',
    );
  return {
    endpoint: url.origin,
    bucket,
    prefix: folders.map((part) => `${part}/`).join(''),
    region: url.searchParams.get('region') ?? 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
  };
}
