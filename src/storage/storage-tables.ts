import { TABLES as clockRecords } from './clock-record-store.ts';
import { TABLES as copies } from './copy.ts';
import { TABLES as journal } from './journal.ts';
import { TABLES as keyRotations } from './key-rotation-store.ts';
import { TABLES as laneRegister } from './lane-register.ts';
import { TABLES as leases } from './lease.ts';
import { TABLES as migrations } from './migrate.ts';
import { TABLES as writers } from './postgres/group-writer.ts';
import { TABLES as sadKeys } from './sad-key-table.ts';
import { TABLES as heartbeat } from './sqlite/group-writer.ts';
import type { Table } from './table.ts';
import { TABLES as wrappedKeys } from './wrapped-key-store.ts';

/** The tables of the storage mechanism itself, and of no other folder. */
export const TABLES: readonly Table[] = [
  ...migrations,
  ...wrappedKeys,
  ...keyRotations,
  ...journal,
  ...laneRegister,
  ...clockRecords,
  ...sadKeys,
  ...leases,
  ...copies,
  ...heartbeat,
  ...writers,
];
