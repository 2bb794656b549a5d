import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropDatabase } from '../fixtures/database.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import { type SeededService, startSeededService } from './seeded-service.ts';

/**
 * The service and the browser that the files of a process share, because both take longer to start than most tests. Files
 * run one after another, and no test counts records of the seeded accounts that another file adds to:
 *
 *     const shared = shareService();
 *     before(async () => { ({ service, browser } = await shared.open()); });
 *     after(() => shared.close());
 */
export interface SharedService {
  readonly seeded: SeededService;
  readonly service: SeededService['service'];
  readonly browser: TestBrowser;
}

let running: Promise<SharedService> | undefined;
/** The files that were loaded and have not ended. */
let files = 0;

/** Called while a file is loaded: the last file that ends stops the service. */
export function shareService(): { open(): Promise<SharedService>; close(): Promise<void> } {
  files++;
  return {
    open: async () => {
      running ??= start();
      const shared = await running;
      // Their sessions ended if an earlier file let time pass.
      await shared.seeded.signIn();
      return shared;
    },
    close: async () => {
      files--;
      const shared = await running;
      await shared?.browser.endVisits();
      if (files > 0) return;
      running = undefined;
      await shared?.browser.close();
      await shared?.service.stop();
    },
  };
}

async function start(): Promise<SharedService> {
  const seeded = await startSeededService();
  const { service } = seeded;
  return { seeded, service, browser: await openBrowser(service.ports.console) };
}

/** Starts a service without any record, with the key that the shared browser trusts. */
export async function startEmptyService(
  shared: TestService,
  variables: Readonly<Record<string, string>> = {},
): Promise<TestService> {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-empty-'));
  cpSync(join(shared.directory, 'tls'), join(directory, 'tls'), { recursive: true });
  const service = await startTestService({ directory, variables });
  const stop = async (): Promise<void> => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  };
  return { ...service, stop };
}
