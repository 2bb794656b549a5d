import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { BIN, runCommand, withoutSettings } from '../fixtures/command.ts';
import {
  newDirectory,
  type ProcessResponse,
  removeDirectory,
  type ServiceProcess,
  startProcess,
} from '../fixtures/service-process.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { inScope, onlyLong } from '../scope.ts';

const KILLS = inScope({ usual: 1, long: 16 });
/** A command takes about this long on a slow machine; it is killed at any moment of that. */
const LONGEST_MS = 2500;
const COMMANDS = [
  ['keyring', 'rotate', 'root'],
  ['keyring', 'rotate', 'wrapping'],
  ['keyring', 'rotate', 'data'],
  ['keyring', 'rotate', 'digests'],
  ['keyring', 'destroy', 'root', '--destroy-now'],
];

describe('rotations that are killed', { timeout: 600_000, skip: onlyLong }, () => {
  test('leave a vault that opens, and a repeat completes them', async () => {
    const directory = newDirectory();
    let serving: ServiceProcess | undefined;
    try {
      serving = await startProcess(directory);
      const key = serving.demoKey ?? '';
      const pans = Array.from({ length: 50 }, () => luhnPan('411111'));
      const chd = pans.map((card) => ({ card, name: 'Ana Lopez', exp: '12/29' }));
      const body = { chd, tags: [], scheme: 7 };
      const { json } = await serving.call('POST', '/v1/tokenization/simple', { key, body });
      const tokens: string[] = json.data.tokens.map((each: { token: string }) => each.token);
      const variables = { CARDVAULT_DATA_DIR: directory };
      for (let index = 0; index < KILLS; index++) {
        const args = COMMANDS[index % COMMANDS.length] ?? [];
        const env = { ...withoutSettings(process.env), ...variables };
        const child = spawn(process.execPath, [BIN, ...args], { env, stdio: 'ignore' });
        const closed = once(child, 'close');
        await pause((LONGEST_MS * ((index * 7) % KILLS)) / KILLS);
        child.kill('SIGKILL');
        await closed;
        // The service still serves, and each command opens the vault.
        const inspected: ProcessResponse = await serving.call(
          'GET',
          `/v1/tokens/${tokens[index % tokens.length]}/inspect`,
          { key },
        );
        assert.equal(inspected.status, 200);
        const status = await runCommand(['keyring', 'status', '--json'], variables);
        assert.equal(status.code, 0, `${args.join(' ')}: ${status.stderr}`);
      }
      for (const args of COMMANDS) {
        const { code, stderr } = await runCommand(args, variables);
        assert.ok(code === 0 || /there is no former root key/.test(stderr), `${args.join(' ')}: ${stderr}`);
      }
      await serving.stop();
      serving = await startProcess(directory);
      for (const [index, token] of tokens.entries()) {
        const found = await serving.call('GET', `/v1/tokens/${token}/inspect`, { key });
        assert.equal(found.json.data.card_truncated.slice(-4), pans[index]?.slice(-4));
      }
      const verified = await runCommand(['audit', 'verify', '--json'], variables);
      assert.equal(verified.json().ok, true);
    } finally {
      await serving?.kill();
      removeDirectory(directory);
    }
  });
});
