import { AccountNumbers } from '../account-numbers.ts';
import { type DatabaseReads, StorageError } from '../database.ts';
import { Connection } from './connection.ts';

/** Opens an existing file for reading, beside the processes that use it. Throws `StorageError` when it is no database. */
export function openFileReadOnly(path: string): DatabaseReads & { close(): void } {
  const connection = connect(path);
  const readStored: DatabaseReads['readStored'] = async (sql, ...values) => {
    try {
      return connection.read(sql, values);
    } catch (cause) {
      throw new StorageError(`a read failed: ${(cause as Error).message}`);
    }
  };
  const accounts = new AccountNumbers(readStored);
  return { readStored, read: (sql, ...values) => accounts.read(sql, values), close: () => connection.close() };
}

function connect(path: string): Connection {
  try {
    return new Connection(path, { readOnly: true });
  } catch (cause) {
    throw new StorageError(`${path} cannot be opened: ${(cause as Error).message}`);
  }
}
