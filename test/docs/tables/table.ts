import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';

/** The rows of a table, its heads first. */
export type Rows = readonly (readonly string[])[];

/** A table that is made from the code, and where it goes. */
export interface MadeTable {
  readonly page: string;
  /** The name in the page's markers. */
  readonly name: string;
  readonly rows: Rows;
}

const escaped = (cell: string) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A table as Markdown. */
function write([heads = [], ...rows]: Rows): string {
  return [heads, heads.map(() => '---'), ...rows]
    .map((row) => `| ${row.map(escaped).join(' | ')} |`)
    .join('\n');
}

/** The text of a page with these tables between their markers; throws if a marker is missing. */
export async function withTables(page: string, tables: readonly MadeTable[]): Promise<string> {
  let text = readFileSync(page, 'utf8');
  for (const { name, rows } of tables) {
    const place = new RegExp(`(<!-- made: ${name} -->\n)[^]*?(<!-- end -->)`);
    if (!place.test(text)) throw new Error(`${page} has no place for the table ${name}.`);
    text = text.replace(place, (_, begin: string, end: string) => `${begin}\n${write(rows)}\n\n${end}`);
  }
  return format(text, { ...(await resolveConfig(page)), parser: 'markdown' });
}

/** Writes the tables into their pages. */
export async function writeTables(tables: readonly MadeTable[]): Promise<void> {
  for (const page of new Set(tables.map((table) => table.page)))
    writeFileSync(
      page,
      await withTables(
        page,
        tables.filter((table) => table.page === page),
      ),
    );
}
