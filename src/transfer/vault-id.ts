import { hash } from 'node:crypto';
import { type Database, text } from '../storage/database.ts';

const WRAPPING_KEYS = `select id from wrapped_keys where account = 0 and purpose = 'wrapping'
  order by environment, version`;

/** Returns a digest that identifies the vault until its wrapping keys are rotated. */
export async function identifyVault(database: Database): Promise<string> {
  const rows = await database.read(WRAPPING_KEYS);
  return hash('sha256', rows.map((row) => text(row, 'id')).join('\n'));
}
