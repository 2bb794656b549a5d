import { test } from 'node:test';
import { parseConfig } from '../../src/config.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import { openDatabase } from '../../src/storage/open.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { databaseContract } from './database-contract.ts';

const absent = whyNoPostgres();

if (absent === false)
  databaseContract('PostgreSQL, sharded', async () => {
    const { newDatabase, dropDatabase } = await sharedPostgres();
    const address = await newDatabase();
    const settings = { CARDVAULT_DATABASE_URL: address, CARDVAULT_DATABASE_SHARDED: 'true' };
    return {
      open: async (journalKey) => {
        const { database } = openDatabase(parseConfig(settings).database, () => Date.now(), systemRandom());
        await database.useJournalKey(journalKey);
        return database;
      },
      remove: () => dropDatabase(address),
    };
  });
else test('PostgreSQL implements the contract of Database when sharded', { skip: absent });
