// What a wire can carry of the published forms, in addition to text, images, tools and their results. What it cannot is
// left out and named.

/** One wire's abilities. */
export interface Carries {
  /** Thinking with its signature, to be sent back as it came. */
  readonly signatures: boolean;
  /** Thinking as plain text (`reasoning_content`), to be sent back. */
  readonly reasoning: boolean;
  /** Marks of the provider's prompt cache. */
  readonly cacheControl: boolean;
  /** Whether a tool failed. */
  readonly toolErrors: boolean;
  /** Images and documents in a tool's result. */
  readonly toolMedia: boolean;
  /** Documents: Anthropic's blocks, OpenAI's `file` parts, or none but their text. */
  readonly documents: 'blocks' | 'files' | 'text';
  readonly topK: boolean;
  /** `parallel_tool_calls: false`. */
  readonly oneTool: boolean;
  /** How much the model thinks: as Anthropic's `thinking`, or as an effort where the model is known to think. */
  readonly thinking: 'member' | 'effort' | 'none';
  /** The member that bounds the answer. */
  readonly bound: 'max_tokens' | 'max_completion_tokens';
  /** Stop sequences at the most. */
  readonly stops: number;
  /** Members and tools of Anthropic's own. */
  readonly own: boolean;
  /** The tier of service that is asked for. */
  readonly tiers: boolean;
  /** Several answers at once, logarithms of probabilities, and sound. */
  readonly choices: boolean;
  /** `presence_penalty` and `frequency_penalty`. */
  readonly penalties: boolean;
  /** Google's signatures of thoughts, in `extra_content`. */
  readonly google: boolean;
}
