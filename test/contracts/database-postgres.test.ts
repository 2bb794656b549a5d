import { test } from 'node:test';
import { openAddress } from '../fixtures/database.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { databaseContract } from './database-contract.ts';

const absent = whyNoPostgres();

if (absent === false)
  databaseContract('PostgreSQL', async () => {
    const { newDatabase, dropDatabase } = await sharedPostgres();
    const address = await newDatabase();
    return {
      open: async (journalKey) => {
        const database = openAddress(address);
        await database.useJournalKey(journalKey);
        return database;
      },
      remove: () => dropDatabase(address),
    };
  });
else test('PostgreSQL implements the contract of Database', { skip: absent });
