// Oracle Cloud Infrastructure Generative AI ("Generative AI Service Inference API").
import type { ProviderEntry } from '../dialect.ts';
import { ORACLE } from '../options/oracle.ts';

export const oracle: ProviderEntry = {
  id: 'oracle',
  name: 'Oracle Generative AI',
  dialect: 'oracle',
  baseUrl: 'https://inference.generativeai.{oracle_region}.oci.oraclecloud.com',
  auth: 'oracle',
  streamUsage: 'unasked',
  operations: ['chat'],
  options: ORACLE,
  prices: ['oci'],
};
