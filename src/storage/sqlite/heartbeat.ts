import type { Table } from '../table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'heartbeat',
    key: ['id'],
    columns: { id: 'integer', beats: 'integer' },
    isLocal: true,
  },
];

/** Shows that the database can be written again, for example after a full disk. */
export const PROBE_WRITE =
  'insert into heartbeat (id, beats) values (1, 1) on conflict (id) do update set beats = beats + 1';
