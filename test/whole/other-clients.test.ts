import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildBrunoCollection } from '../../scripts/bruno-collection.ts';
import { buildDocument } from '../../scripts/client-types.ts';
import { installLibrary } from '../fixtures/installed-library.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newSender } from '../interface/proxy-requests.ts';
import { onlyLong } from '../scope.ts';

/** Clients that others make from the OpenAPI document, against a real service. */

const COLLECTION = join(import.meta.dirname, '..', '..', 'examples', 'bruno', 'cardvault');
const GENERATOR = 'openapi-python-client==0.29.1';
const BRUNO = '@usebruno/cli';
const RUNS_WITHIN_MS = 300_000;

/** A shop that uses the generated client, as the guide shows it. */
const PYTHON = `import hashlib
import os
from base64 import b64encode
from cardvault_client import AuthenticatedClient
from cardvault_client.api.account import get_account
from cardvault_client.api.card_form import create_capture_session, delete_capture_session, show_capture_session
from cardvault_client.api.permanent_tokens import inspect_token, tokenize_cards
from cardvault_client.api.webhooks import create_webhook, list_deliveries, list_webhooks
from cardvault_client.models import CreateCaptureSessionRequest, CreateWebhookRequest, ListDeliveriesStatus
from cardvault_client.models import TokenizeCardsRequest, VaultFailure

client = AuthenticatedClient(
    base_url=os.environ["VAULT_URL"],
    token=os.environ["VAULT_KEY"],
    prefix="",
    auth_header_name="x-api-key",
    verify_ssl=os.environ["VAULT_CA"],
)
print(get_account.sync(client=client).data.environment)
card = {"card": "4111111111111111", "name": "Ana Lopez", "exp": "12/40"}
body = TokenizeCardsRequest.from_dict({"chd": [card], "tags": [], "scheme": 7})
first = tokenize_cards.sync(client=client, body=body, idempotency_key="order-1")
again = tokenize_cards.sync(client=client, body=body, idempotency_key="order-1")
assert first.data.tokens[0].token == again.data.tokens[0].token
print(inspect_token.sync(first.data.tokens[0].token, client=client).data.card_truncated)
refused = inspect_token.sync("unknown", client=client)
assert isinstance(refused, VaultFailure) and refused.status_code == 400
body = CreateCaptureSessionRequest.from_dict({"allowed_origins": ["https://shop.example.com"], "result": "token", "scheme": 7})
session = create_capture_session.sync(client=client, body=body, idempotency_key="session-1").data
assert session.client_secret and show_capture_session.sync(session.id, client=client).data.id == session.id
delete_capture_session.sync(session.id, client=client)
body = CreateWebhookRequest.from_dict({"url": "https://shop.example.com/events", "events": ["token.deleted"]})
created = create_webhook.sync(client=client, body=body, idempotency_key="webhook-1").data
[listed] = list_webhooks.sync(client=client).data.webhooks
assert listed.id == created.id
proxy = client.get_httpx_client()
key = {"ft-access-key": os.environ["VAULT_KEY"]}
headers = {**key, "content-type": "text/plain"}
hashed = proxy.post("/proxy/hash", params={"type": "SHA256"}, content="a", headers=headers).json()
assert hashed["data"]["hashValue"] == b64encode(hashlib.sha256(b"a").digest()).decode()
secured = proxy.post("/proxy/wssec", content="<a/>", headers={**key, "content-type": "application/xml"}).json()
assert secured["data"]["xml"].startswith("<soapenv:Envelope")
print(listed.url, len(list_deliveries.sync(listed.id, client=client, status=ListDeliveriesStatus.DELIVERED).data.deliveries))
`;

/** A request in the report of Bruno. */
interface BrunoResult {
  readonly test: { readonly filename: string };
  readonly response: { readonly status: number };
}

interface Ended {
  readonly isSuccess: boolean;
  readonly out: string;
}

/** Runs a command without blocking the service, which runs in this process. */
const run = (command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, timeout: RUNS_WITHIN_MS };
    execFile(command, [...args], options, (error, stdout, stderr) =>
      resolve({ isSuccess: error === null, out: `${stdout}${stderr}` }),
    );
  });

describe('a client of another maker', { skip: onlyLong, timeout: 2 * RUNS_WITHIN_MS }, () => {
  let service: TestService;
  let folder: string;
  let url: string;
  let key: string;
  let ca: string;
  before(async () => {
    service = await startTestService();
    folder = mkdtempSync(join(tmpdir(), 'cardvault-clients-'));
    url = `https://localhost:${service.ports.sandbox}`;
    const sender = await newSender(service);
    await service.enablePayments(sender.account);
    ({ key } = sender);
    ca = join(folder, 'ca.pem');
    writeFileSync(ca, service.authority);
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await service.stop();
  });

  test('in Python is generated from the document, and works', async (context) => {
    const pip = await run('python3', ['-m', 'venv', 'venv'], folder);
    const python = join(folder, 'venv', 'bin', 'python');
    const installed = pip.isSuccess && (await run(python, ['-m', 'pip', 'install', '-q', GENERATOR], folder)).isSuccess;
    if (!installed) return context.skip('python3 with pip cannot install the generator here');
    writeFileSync(join(folder, 'openapi.json'), (await service.call('GET', '/openapi.json')).text);
    const output = ['--meta', 'none', '--output-path', 'cardvault_client'];
    const generator = join(folder, 'venv', 'bin', 'openapi-python-client');
    const generated = await run(generator, ['generate', '--path', 'openapi.json', ...output], folder);
    assert.ok(generated.isSuccess, generated.out);
    // The generator knows no XML and no body of any type: these are sent with its connection, as the guide shows.
    const missing = [...generated.out.matchAll(/WARNING parsing (\S+ \S+)/g)].map(([, operation]) => operation);
    assert.deepEqual(missing.sort(), ['POST /proxy/hash', 'POST /proxy/wssec']);
    writeFileSync(join(folder, 'shop.py'), PYTHON);
    const environment = { VAULT_URL: url, VAULT_KEY: key, VAULT_CA: ca };
    const { isSuccess, out } = await run(python, ['shop.py'], folder, environment);
    assert.ok(isSuccess, out);
    assert.deepEqual(out.trim().split('\n'), ['sandbox', '411111******1111', 'https://shop.example.com/events 0']);
  });

  test('Bruno sends every request of the collection with success', async (context) => {
    const installed = installLibrary(BRUNO);
    if ('reason' in installed) return context.skip(installed.reason);
    cpSync(COLLECTION, join(folder, 'collection'), { recursive: true });
    const bru = join(installed.folder, 'node_modules', '.bin', 'bru');
    const variables = ['--env-var', `url=${url}`, '--env-var', `apiKey=${key}`];
    const files = [...buildBrunoCollection(buildDocument()).keys()].filter((path) =>
      /^(?!environments)[^/]+\/(?!folder)[^/]+\.bru$/.test(path),
    );
    const all = Object.values(buildDocument().paths).flatMap((methods) => Object.values(methods));
    assert.equal(files.length, all.length);
    const report = join(folder, 'report.json');
    const send = async (...requests: string[]): Promise<(readonly [file: string, status: number])[]> => {
      const args = ['run', ...requests, '--env', 'sandbox', ...variables, '--cacert', ca, '--reporter-json', report];
      const { isSuccess, out } = await run(bru, args, join(folder, 'collection'));
      assert.ok(isSuccess, out);
      const [{ results }] = JSON.parse(readFileSync(report, 'utf8')) as [{ results: BrunoResult[] }];
      return results.map(({ test: { filename }, response: { status } }) => [filename, status]);
    };
    // A payment that the requests before have captured cannot be voided.
    const voided = 'Payments/voidPayment.bru';
    const others = files.filter((path) => path !== voided);
    const sent = [...(await send(...others)), ...(await send('Payments/createPayment.bru', voided))];
    assert.deepEqual(
      sent.filter(([, status]) => status !== 200),
      [],
    );
    assert.deepEqual([...new Set(sent.map(([file]) => file))].sort(), files.sort());
    rmSync(installed.folder, { recursive: true, force: true });
  });
});
