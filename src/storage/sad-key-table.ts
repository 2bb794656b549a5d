import type { SadKeyStore, WrappedSadKey } from '../crypto/sad-keys.ts';
import type { Environment } from '../kernel/environment.ts';
import { blob, commitOrThrow, type Database, integer, integerOrNull, type Row, text, write } from './database.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'sad_keys',
    key: ['id'],
    columns: { id: 'text', environment: 'integer', period: 'integer', wrapped: 'blob', closed_at: 'integer' },
    isLocal: true,
  },
];

const COLUMNS = 'id, environment, period, wrapped, closed_at';
const FIND_OPEN = `select ${COLUMNS} from sad_keys where environment = ?environment and period = ? and closed_at is null`;
const FIND_BY_ID = `select ${COLUMNS} from sad_keys where id = ?`;
const LIST = `select ${COLUMNS} from sad_keys`;
const INSERT = `insert into sad_keys (${COLUMNS}) values (?, ?environment, ?, ?, ?) on conflict do nothing`;
const CLOSE = 'update sad_keys set closed_at = ? where id = ? and closed_at is null';
const DESTROY = 'delete from sad_keys where id = ?';

/** Stores the keys of sensitive authentication data in a table that all nodes share. Dumps must leave it out. */
export function sadKeyTable(database: Database): SadKeyStore {
  const find = async (sql: string, ...values: (string | number)[]): Promise<WrappedSadKey | undefined> =>
    (await database.read(sql, ...values)).map(wrappedSadKey)[0];
  return {
    findOpen: (environment, period) => find(FIND_OPEN, environment, period),
    findById: (id) => find(FIND_BY_ID, id),
    list: async () => (await database.read(LIST)).map(wrappedSadKey),
    insert: async ({ id, environment, period, wrapped, closedAt }) => {
      const values = [id, environment, period, wrapped, closedAt ?? null];
      return (await database.commit({ writes: [write(INSERT, values, 1)] })).committed;
    },
    close: ({ id }, at) => commitOrThrow(database, { writes: [write(CLOSE, [at, id])] }),
    destroy: ({ id }) => commitOrThrow(database, { writes: [write(DESTROY, [id])], scrubAfterCommit: true }),
  };
}

const wrappedSadKey = (row: Row): WrappedSadKey => ({
  id: text(row, 'id'),
  environment: text(row, 'environment') as Environment,
  period: integer(row, 'period'),
  wrapped: blob(row, 'wrapped'),
  closedAt: integerOrNull(row, 'closed_at'),
});
