// Tables as files for spreadsheets.
import { csvCell, download } from './parts.tsx';

/** Loads a table as a CSV file, in UTF-8 with a mark that spreadsheets know it by. */
export function downloadCsv(name: string, rows: readonly (readonly string[])[]): void {
  const lines = rows.map((cells) => cells.map(csvCell).join(','));
  download(name, 'text/csv;charset=utf-8', [`\ufeff${lines.join('\r\n')}\r\n`]);
}
