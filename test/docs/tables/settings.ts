import { describeSettings } from '../../../src/config/settings.js';
import type { MadeTable } from './table.js';

/** The table of `docs/settings.md`, from the schemas that read the settings. */
export function settingTables(): readonly MadeTable[] {
  const rows = describeSettings().map(({ name, about, usual, otherwise, required }) => [
    `\`${name}\`${required ? ' ◆' : ''}`,
    about,
    usual === undefined ? (otherwise ?? 'none') : `\`${usual}\``,
  ]);
  return [{ page: 'docs/settings.md', name: 'settings', rows: [['setting', 'meaning', 'default'], ...rows] }];
}
