import { test } from 'node:test';
import { openAddress } from '../database.ts';
import { sharedPostgres } from '../postgres.ts';
import { noPostgres } from '../postgres-binaries.ts';
import { databaseContract } from './contract.ts';

const absent = noPostgres();

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
else test('PostgreSQL keeps the contract of Database', { skip: absent });
