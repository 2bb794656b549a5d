import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { type AuditVault, openAuditVault } from '../../test/fixtures/audit-vault.ts';
import { pemOf, signingKeysOf } from '../../test/fixtures/signing-keys.ts';
import { inScope } from '../../test/scope.ts';
import { DAY, HOUR } from '../kernel/clock.ts';
import { digestChainHeads } from './chain-reader.ts';
import { checkExport, type ExportCheck, PublicKeyError, parsePublicKeys } from './check-export.ts';
import { type ExportSelection, exportToFile } from './export-file.ts';
import { readLines } from './read-lines.ts';
import type { HeadsLine } from './recorded-heads.ts';
import { recordResumption } from './resumption.ts';
import { type PublicKeys, signStatement } from './statements.ts';

describe('an exported audit log', { timeout: 120_000 }, () => {
  let vault: AuditVault;
  let keys: PublicKeys;
  let lines: string[];
  let files = 0;

  const exported = async (selection?: ExportSelection, of: AuditVault = vault): Promise<string> => {
    const file = vault.file(`export-${++files}.jsonl`);
    await exportToFile(of, file, selection);
    return file;
  };
  const checkFile = (file: string, notes?: readonly HeadsLine[], by = keys): Promise<ExportCheck> =>
    checkExport(readLines(file), by, notes && toIterable(notes));
  const checkText = (text: string): Promise<ExportCheck> => {
    const file = vault.file('changed.jsonl');
    writeFileSync(file, text);
    return checkFile(file);
  };
  const checkLines = (changed: readonly string[]): Promise<ExportCheck> =>
    checkText(changed.map((line) => `${line}\n`).join(''));
  const faultOf = async (changed: readonly string[]): Promise<string> => {
    const { ok, fault = '' } = await checkLines(changed);
    assert.equal(ok, false);
    return fault;
  };
  const indexOf = (start: string, from = 0): number => {
    const index = lines.findIndex((line, at) => at >= from && line.startsWith(start));
    assert.ok(index >= 0, start);
    return index;
  };
  const without = (index: number): string[] => lines.filter((_, at) => at !== index);
  const replaced = (index: number, from: string | RegExp, to: string): string[] => {
    const changed = lines.map((line, at) => (at === index ? line.replace(from, to) : line));
    assert.notDeepEqual(changed, lines);
    return changed;
  };

  before(async () => {
    vault = await openAuditVault();
    await vault.record('', 2);
    await vault.record('acct_a', 5);
    vault.now += DAY;
    await vault.record('acct_b', 3);
    await vault.record('acct_a', 2);
    vault.now += DAY;
    await vault.record('', 1);
    await vault.record('acct_b', 4);
    keys = parsePublicKeys(await pemOf(vault.signingKeys));
    lines = readFileSync(await exported(), 'utf8')
      .trimEnd()
      .split('\n');
  });
  after(() => vault.close());

  test('is verified with the public key alone, and has the digest of audit verify', async () => {
    const file = await exported();
    const { ok, records, chains, digest, keyId, header } = await checkFile(file);
    assert.deepEqual([ok, records, chains, keyId], [true, 19, 3, [...keys.keys()][0]]);
    assert.equal(digest, (await digestChainHeads(vault.database, () => undefined)).digest);
    assert.deepEqual([header?.content, header?.scope], ['log', {}]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  test('is limited to an account or a time, and says so', async () => {
    const ofAccount = await checkFile(await exported({ account: 'acct_a' }));
    assert.deepEqual([ofAccount.ok, ofAccount.records, ofAccount.header?.scope], [true, 7, { account: 'acct_a' }]);
    const second = Date.UTC(2026, 0, 2);
    const since = await checkFile(await exported({ from: second }));
    // The chain of no account has its last announcement and record in this time.
    assert.deepEqual([since.ok, since.records], [true, 3 + 2 + 4 + 2]);
    const until = await checkFile(await exported({ to: second - HOUR }));
    assert.deepEqual([until.ok, until.records], [true, 2 + 1 + 5]);
    const day = await checkFile(await exported({ account: 'acct_b', from: second, to: second + HOUR }));
    assert.deepEqual([day.ok, day.records], [true, 3]);
    assert.deepEqual(Object.keys(day.header?.scope ?? {}), ['account', 'from', 'to']);
  });

  test('replaces no file', async () => {
    const file = await exported();
    const content = readFileSync(file, 'utf8');
    await assert.rejects(exportToFile(vault, file), /exists already; name another file/);
    assert.equal(readFileSync(file, 'utf8'), content);
    await assert.rejects(exportToFile(vault, vault.file('no/such/folder')), /cannot be written \(ENOENT\)/);
  });

  test('shows a changed, missing, added or reordered record with its line', async () => {
    const chain = indexOf('{"type":"chain","account":"acct_a"');
    const third = chain + 3;
    const changed = await checkLines(replaced(third, 'capture.retrieved', 'capture.deleted__'));
    assert.deepEqual([changed.line, changed.fault], [third + 1, 'account acct_a, lane 1, record 3: changed']);
    assert.match(await faultOf(replaced(third, '"sandbox"', '"production"')), /record 3: changed/);
    assert.match(await faultOf(without(third)), /record 3: missing/);
    assert.match(await faultOf(without(chain + 1)), /record 1: missing/);
    const swapped = lines.with(third, lines[third + 1] ?? '').with(third + 1, lines[third] ?? '');
    assert.match(await faultOf(swapped), /record 3: missing/);
    assert.match(await faultOf(lines.toSpliced(third, 0, lines[third] ?? '')), /record 4: missing/);
    assert.match(await faultOf(without(chain)), /record 4: missing|record [0-9]+: missing/);
  });

  test('shows a removed end, chain, announcement or statement', async () => {
    const chain = indexOf('{"type":"chain","account":"acct_a"');
    const next = indexOf('{"type":"chain"', chain + 1);
    const end = indexOf('{"type":"end"');
    assert.match(await faultOf(without(next - 1)), /the end counts 19 records/);
    const cut = lines.toSpliced(next - 1, 1).with(end - 1, '{"type":"end","chains":3,"records":18}');
    assert.match(await faultOf(cut), /not those that the vault signed/);
    const gone = lines
      .toSpliced(chain, next - chain)
      .map((line) => (line.startsWith('{"type":"end"') ? '{"type":"end","chains":2,"records":12}' : line));
    assert.match(await faultOf(gone), /not those that the vault signed/);
    assert.match(await faultOf(without(indexOf('{"type":"export"'))), /statement about the content is missing/);
    for (let count = 1; count < lines.length; count++)
      assert.equal((await checkLines(lines.slice(0, count))).ok, false, `${count} lines`);
    const text = lines.map((line) => `${line}\n`).join('');
    assert.match((await checkText(text.slice(0, -1))).fault ?? '', /ends within this line/);
    assert.match((await checkText(`${text}{}\n`)).fault ?? '', /behind the end/);
    assert.match((await checkText('')).fault ?? '', /empty/);
  });

  test('shows a rewritten chain with correct hashes, and a statement of another file or vault', async () => {
    const other = await openAuditVault(Date.UTC(2025, 5, 1));
    try {
      await other.record('', 2);
      await other.record('acct_a', 5, 'capture.deleted');
      const forged = readFileSync(await exported({}, other), 'utf8')
        .trimEnd()
        .split('\n');
      const statement = indexOf('{"type":"export"');
      const at = forged.findIndex((line) => line.startsWith('{"type":"export"'));
      assert.match(await faultOf(forged.with(at, lines[statement] ?? '')), /another vault/);
      const sameVault = forged.with(0, lines[0] ?? '').with(at, lines[statement] ?? '');
      assert.match(await faultOf(sameVault), /not those that the vault signed/);
      const thief = { ...other, signingKeys: signingKeysOf('two') };
      assert.match((await checkFile(await exported({}, thief))).fault ?? '', /signed with the key [0-9a-f]{16}, which/);
    } finally {
      await other.close();
    }
    assert.match(await faultOf(replaced(0, /"time":"[^"]*"/, '"time":"2027-01-01T00:00:00.000Z"')), /header/);
    assert.match(await faultOf(replaced(0, /"scope":\{\}/, '"scope":{"account":"x"}')), /header/);
    const signature = /"signature":"(.)/;
    const [, first = ''] = signature.exec(lines[indexOf('{"type":"export"')] ?? '') ?? [];
    const flipped = `"signature":"${first === 'A' ? 'B' : 'A'}`;
    assert.match(await faultOf(replaced(indexOf('{"type":"export"'), signature, flipped)), /signature is not valid/);
  });

  test('does not accept a checkpoint in place of the statement about the content', async () => {
    const statement = JSON.parse(JSON.parse(lines[indexOf('{"type":"export"')] ?? '').statement);
    const { signature, keyId } = await signStatement(vault.signingKeys, 'checkpoint', statement);
    const line = {
      type: 'export',
      statement: JSON.stringify(statement),
      key_id: keyId,
      signature: Buffer.from(signature).toString('base64'),
    };
    assert.match(
      await faultOf(lines.with(indexOf('{"type":"export"'), JSON.stringify(line))),
      /signature is not valid/,
    );
  });

  test('is one form of JSON only, so that no reader reads anything else from it', async () => {
    const record = indexOf('{"type":"record"');
    const twice = replaced(record, '"sequence":1', '"sequence":2,"sequence":1');
    assert.match(await faultOf(twice), /not in the form of a record/);
    assert.match(await faultOf(replaced(record, '{"type"', '{ "type"')), /not in the form of a record/);
    assert.match(await faultOf(lines.toSpliced(record, 0, '{"type":"remark"}')), /no known type/);
    assert.match(await faultOf(lines.toSpliced(record, 0, '[]')), /no JSON object/);
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    bytes[bytes.indexOf('capture')] = 0xff;
    const file = vault.file('bytes.jsonl');
    writeFileSync(file, bytes);
    assert.match((await checkFile(file)).fault ?? '', /not UTF-8/);
  });

  test('shows any small change, whatever it is', async () => {
    const text = lines.map((line) => `${line}\n`).join('');
    const position = fc.nat({ max: text.length - 1 });
    const line = fc.nat({ max: lines.length - 1 });
    const change = fc.oneof(
      fc
        .record({ at: position, to: fc.constantFrom('0', 'f', '"', ' ', '\n', '}', 'é') })
        .map(({ at, to }) => text.slice(0, at) + to + text.slice(at + 1)),
      position.map((at) => text.slice(0, at) + text.slice(at + 1)),
      position.map((at) => text.slice(0, at)),
      fc.tuple(line, line).map(([one, two]) => {
        const swapped = lines.with(one, lines[two] ?? '').with(two, lines[one] ?? '');
        return swapped.map((each) => `${each}\n`).join('');
      }),
      fc.tuple(line, line).map(([from, to]) =>
        lines
          .toSpliced(to, 0, lines[from] ?? '')
          .map((each) => `${each}\n`)
          .join(''),
      ),
    );
    await fc.assert(
      fc.asyncProperty(change, async (changed) => {
        fc.pre(changed !== text);
        assert.equal((await checkText(changed)).ok, false);
      }),
      { numRuns: inScope({ usual: 150, long: 3000 }) },
    );
  });

  test('contains the heads that were noted elsewhere, unless it is older than they are', async () => {
    const heads = [{ account: 'acct_a', lane: 1, sequence: 5, hash: '' }];
    const record = lines[indexOf('{"type":"chain","account":"acct_a"') + 5] ?? '';
    const noted = { at: vault.now, heads: heads.map((head) => ({ ...head, hash: JSON.parse(record).hash as string })) };
    const file = await exported();
    assert.deepEqual((await checkFile(file, [noted])).noted, { found: 1, elsewhere: 0 });
    const other = { at: vault.now, heads: [{ ...heads[0], hash: 'e'.repeat(64) } as never] };
    assert.match(
      (await checkFile(file, [other])).fault ?? '',
      /account acct_a, lane 1, record 5: noted at 2026-.* another one/,
    );
    const beyond = { at: vault.now, heads: [{ account: 'acct_a', lane: 1, sequence: 99, hash: 'e'.repeat(64) }] };
    assert.match((await checkFile(file, [beyond])).fault ?? '', /record 99: noted at .* missing/);
    const unknown = { at: vault.now, heads: [{ account: 'acct_z', lane: 1, sequence: 1, hash: 'e'.repeat(64) }] };
    assert.match((await checkFile(file, [unknown])).fault ?? '', /account acct_z, lane 1, record 1: .* missing/);
    const later = { ...beyond, at: vault.now + DAY };
    assert.deepEqual((await checkFile(file, [later])).noted, { found: 0, elsewhere: 1 });
  });

  test('explains noted heads that a restore replaced, by its record, and no later ones', async () => {
    const restored = await openAuditVault();
    try {
      await restored.record('acct_a', 3);
      const lost = [{ account: 'acct_a', lane: 1, sequence: 5, hash: 'e'.repeat(64) }];
      const before = { at: restored.now, heads: lost };
      restored.now += HOUR;
      const origin = { actor: { type: 'operator', name: 'Ana' } } as const;
      await recordResumption(restored, { action: 'vault.restored', origin, id: 'one', what: 'backup.db' });
      restored.now += HOUR;
      await restored.record('acct_a', 4);
      const file = await exported({}, restored);
      assert.deepEqual((await checkFile(file, [before])).noted, { found: 0, elsewhere: 1 });
      const later = await checkFile(file, [{ at: restored.now, heads: lost }]);
      assert.match(later.fault ?? '', /acct_a, lane 1, record 5: noted at .* another one/);
    } finally {
      await restored.close();
    }
  });

  test('does not show the text of a forged file', async () => {
    const statement = indexOf('{"type":"export"');
    const fault = await faultOf(replaced(statement, /"key_id":"[^"]*"/, '"key_id":"\\u001b[2J"'));
    assert.equal(fault, 'the line is no signed statement');
    const chain = indexOf('{"type":"chain","account":"acct_a"');
    assert.doesNotMatch(await faultOf(replaced(chain, '"acct_a"', '"\\u001b[2J"')), /\u001b/);
  });

  test('is complete while records are written', async () => {
    let isWriting = true;
    const writing = (async () => {
      for (let index = 0; isWriting; index++) {
        await vault.record(`acct_${'abc'[index % 3]}`);
        await vault.record('');
      }
    })();
    for (let index = 0; index < 5; index++) {
      const check = await checkFile(await exported());
      assert.deepEqual([check.fault, check.ok], [undefined, true]);
    }
    isWriting = false;
    await writing;
  });

  test('needs public keys of the right kind', async () => {
    assert.throws(() => parsePublicKeys('nothing'), PublicKeyError);
    assert.throws(() => parsePublicKeys('-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'), PublicKeyError);
    const both = parsePublicKeys(await pemOf(signingKeysOf('two', 'one')));
    assert.equal(both.size, 2);
    const file = await exported();
    assert.equal((await checkFile(file, undefined, both)).ok, true);
    rmSync(file);
    await assert.rejects(checkFile(file), /ENOENT/);
  });
});

async function* toIterable(lines: readonly HeadsLine[]): AsyncGenerator<HeadsLine> {
  yield* lines;
}
