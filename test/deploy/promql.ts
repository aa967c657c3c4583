// PromQL without a server: whether an expression can be parsed, and the metrics that it names.
import { parser } from '@prometheus-io/lezer-promql';

/** Grafana's variables of time, as a value that stands for any. */
const INTERVALS = /\$__(?:rate_)?interval|\$__range/g;

/** @throws Error naming the place of a syntax fault */
export function metricsIn(expression: string): string[] {
  const text = expression.replace(INTERVALS, '5m');
  const names: string[] = [];
  parser.parse(text).iterate({
    enter({ type, from, to, node }) {
      if (type.isError) throw new Error(`"${text}" is no PromQL at ${from}`);
      if (type.name === 'Identifier' && node.parent?.type.name === 'VectorSelector')
        names.push(text.slice(from, to));
    },
  });
  return names;
}
