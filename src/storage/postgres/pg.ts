import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Returns the client library, loaded on first use: over SQLite a start would take it in vain. */
export const pg = (): typeof import('pg') => require('pg');
