// The forms of images other than OpenAI's, as providers' literals name them.

export type ImageWireName =
  | 'fireworks'
  | 'hyperbolic'
  | 'segmind'
  | 'siliconflow'
  | 'stability'
  | 'together'
  | 'workers-ai';
