/** A table in Markdown. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** Text on one line that no renderer takes for the next cell or for HTML. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replace(/\s+/g, ' ');
}
