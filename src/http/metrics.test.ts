import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from './metrics.ts';

test('a gauge whose source fails has no value, and the others are served', async () => {
  let isAway = false;
  const count = async (): Promise<number> => {
    if (isAway) throw new Error('the database is away');
    return 3;
  };
  const metrics = new Metrics(() => ({ waiting: 1, executed: { groups: 4, units: 7 } }), {
    isReady: async () => !isAway,
    isTimeTrusted: () => true,
    listCertificateExpiries: async () => [],
    countInDoubtPayments: count,
    listVerifications: async () => [],
    countAlteredRows: async () => new Map([['accounts', await count()]]),
    countWaitingWebhooks: async () => ({ number: 0, ageSeconds: 0 }),
    countMissingSadKeys: count,
    measureShipping: () => Promise.resolve([]),
    readBackupAges: async () => ({ backup: (await count()) * 1000, drill: undefined }),
    countUnfinishedRotations: async () => 0,
    countOverdueKeys: async () => 2,
    certificateEnd: () => 5000,
    listClientCertificateEnds: () => [
      ['database', 7000],
      ['audit_receivers', undefined],
    ],
    countExpiringKeys: async () => new Map([['sandbox', await count()]]),
    measureDisk: async () => ({ free: await count(), total: 9 }),
    measureDatabase: count,
  });
  const samples = async (): Promise<string[]> =>
    (await (await metrics.registry()).metrics())
      .split('\n')
      .filter((line) =>
        /^cardvault_(waiting|write|ready|payments_doubtful|altered|sad_keys|backup|disk|database|keys|certificate|client|api)/.test(
          line,
        ),
      );
  const own = (lines: readonly string[]): string[] =>
    lines.filter((line) => !line.startsWith('cardvault_altered_rows'));
  const first = await samples();
  assert.deepEqual(own(first), [
    'cardvault_waiting_writes 1',
    'cardvault_write_groups_total 4',
    'cardvault_write_units_total 7',
    'cardvault_payments_doubtful 3',
    'cardvault_ready 1',
    'cardvault_sad_keys_missing 3',
    'cardvault_keys_overdue 2',
    'cardvault_certificate_end_seconds 5',
    'cardvault_client_certificate_end_seconds{use="database"} 7',
    'cardvault_api_keys_expiring{environment="sandbox"} 3',
    'cardvault_backup_age_seconds 3',
    'cardvault_disk_bytes{kind="free"} 3',
    'cardvault_disk_bytes{kind="total"} 9',
    'cardvault_database_bytes 3',
  ]);
  assert.ok(first.includes('cardvault_altered_rows{table="accounts"} 3'));
  isAway = true;
  assert.deepEqual(await samples(), [
    'cardvault_waiting_writes 1',
    'cardvault_write_groups_total 4',
    'cardvault_write_units_total 7',
    'cardvault_ready 0',
    'cardvault_keys_overdue 2',
    'cardvault_certificate_end_seconds 5',
    'cardvault_client_certificate_end_seconds{use="database"} 7',
  ]);
});
