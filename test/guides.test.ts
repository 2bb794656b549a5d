import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { BIN, Shell, serveInProcess, withoutSettings } from './fixtures/command.ts';
import { FOLLOWED } from './fixtures/followed-pages.ts';
import { type Block, blocksOf, type Ran, run } from './fixtures/guide-blocks.ts';
import { newKeyPair, privatePem, publicPem } from './fixtures/rsa-key-pairs.ts';
import { startTestService, type TestService } from './fixtures/test-service.ts';
import { selfSigned } from './receivers/certificates.ts';
import { absent, onPath, python, type Tool } from './receivers/install.ts';
import { javaCommand } from './receivers/java.ts';
import { isLong, onlyLong } from './scope.ts';

/** The programs and commands of the guides: shown as they are, and able to do what is said of them. */
const DOCS = join(import.meta.dirname, '..', 'docs');
const GUIDES = join(DOCS, 'guides');
const ROOT = join(DOCS, '..');
/** `npm run build` writes it. */
const FORM = join(ROOT, 'card-form', 'dist', 'form.html');
const RECEIVERS = join(GUIDES, 'receivers');
const SENDERS = join(GUIDES, 'senders');
const VISA = '4111111111111111';

// Each Java program runs for a moment, in which a quick compiler does more than a good one.
process.env['JDK_JAVA_OPTIONS'] = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC';

interface Program {
  readonly file: string;
  readonly tool?: Tool;
  readonly command: readonly string[];
  /** Between the processor's private key and what the merchant gave. */
  readonly needsOwnCertificate?: boolean;
}

/** Compiled before; started as they are shown they compile themselves, as those do that follow the guides. */
const java = async (folder: string, name: string, tool: Tool): Promise<readonly string[]> =>
  absent(tool) === false ? javaCommand({ tool, folder, classes: [name] }) : [];
const node = (file: string): readonly string[] => [process.execPath, join(RECEIVERS, file)];
// -B: no compiled files among the documents.
const py = (file: string): readonly string[] => [python, '-B', join(RECEIVERS, file)];

const JOSE: readonly Program[] = [
  { file: 'open-jose.mjs', command: node('open-jose.mjs') },
  { file: 'open_jose.py', tool: 'python-jwcrypto', command: py('open_jose.py') },
  { file: 'OpenJose.java', tool: 'java', command: await java(RECEIVERS, 'OpenJose', 'java') },
];
const WSSEC: readonly Program[] = [
  { file: 'open-wssec.mjs', command: node('open-wssec.mjs') },
  { file: 'open_wssec.py', tool: 'python-xmlsec', command: py('open_wssec.py') },
  {
    file: 'OpenWssec.java',
    tool: 'java-wss4j',
    command: await java(RECEIVERS, 'OpenWssec', 'java-wss4j'),
    needsOwnCertificate: true,
  },
];

/** A program that gets the trusted CA by an argument or by a variable. */
interface Sender {
  readonly file: string;
  readonly skip: string | false;
  /** Before its arguments. */
  readonly command: readonly string[];
  readonly trustedBy: 'argument' | 'variable';
}

const SENDING: readonly Sender[] = [
  {
    file: 'send-jose.mjs',
    skip: false,
    command: [process.execPath, join(SENDERS, 'send-jose.mjs')],
    trustedBy: 'variable',
  },
  {
    file: 'send_jose.py',
    skip: existsSync(python) ? false : `no ${python}`,
    command: [python, '-B', join(SENDERS, 'send_jose.py')],
    trustedBy: 'argument',
  },
  {
    file: 'SendJose.java',
    skip: absent('java'),
    command: await java(SENDERS, 'SendJose', 'java'),
    trustedBy: 'argument',
  },
];

/** The others take long to start: in `npm test` they meet one attack only. */
const isStartedOften = ({ tool }: Program): boolean => isLong || tool === undefined;
/** A virtual machine takes a second to start: the claims that are not about security are left to `npm run test:long`. */
const onlyLongInJava = (name: string): string | false => name.endsWith('.java') && onlyLong;

/** An account with keys of its own, and a token. */
class Merchant {
  readonly #service: TestService;
  readonly key: string;
  readonly token: string;
  readonly publicKey: string;
  readonly certificate: string;

  private constructor(
    service: TestService,
    key: string,
    token: string,
    known: { publicKey: string; certificate: string },
  ) {
    this.#service = service;
    this.key = key;
    this.token = token;
    this.publicKey = known.publicKey;
    this.certificate = known.certificate;
  }

  static async join(service: TestService, processorCertificate: string): Promise<Merchant> {
    const account = await service.newAccount();
    const { secret: key } = await service.newKey(account);
    const pair = newKeyPair();
    const changes = {
      processorPublicKey: Buffer.from(processorCertificate),
      merchantPrivateKey: Buffer.from(privatePem(pair)),
      settings: {},
      overlapMinutes: 0,
    };
    const origin = { actor: { type: 'operator', name: 'test' } } as const;
    const { configurations } = service.core;
    const { merchant } = await service.core.transactions.run({ origin }, (transaction) =>
      configurations.configure(transaction, { account, environment: 'sandbox' }, changes),
    );
    const body = { chd: [{ card: VISA, name: 'José Núñez', exp: '12/29' }], tags: [], scheme: 1 };
    const response = await service.call('POST', '/v1/tokenization/simple', { key, body });
    return new Merchant(service, key, response.json.data.tokens[0].token, {
      publicKey: publicPem(pair),
      certificate: merchant?.current.certificate.toString() ?? '',
    });
  }

  async send(path: string, media: string, body: string): Promise<{ text: string; json: { data: { xml: string } } }> {
    const headers = { 'ft-access-key': this.key, 'content-type': media };
    const response = await this.#service.call('POST', path, { headers, body });
    assert.equal(response.status, 200, response.text);
    return response;
  }
}

describe('guides', () => {
  let service: TestService;
  let directory: string;
  let merchant: Merchant;
  let other: Merchant;
  let count = 0;

  const file = (content: string): string => {
    const path = join(directory, String(++count));
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const processorKey = privatePem(newKeyPair());
  let processorCertificate: string;

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    service = await startTestService();
    processorCertificate = await selfSigned(processorKey, 'processor');
    merchant = await Merchant.join(service, processorCertificate);
    other = await Merchant.join(service, processorCertificate);
  });
  after(async () => {
    await service?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  describe('contain the programs unchanged', () => {
    const shown = globSync('docs/guides/*.md', { cwd: ROOT }).flatMap((guide) =>
      blocksOf(guide).map(({ text }) => text),
    );
    const files = globSync('{receivers,senders}/*', { cwd: GUIDES });

    test('nine in total', () => {
      const known = [
        ...[...JOSE, ...WSSEC].map(({ file: name }) => join('receivers', name)),
        ...SENDING.map(({ file: name }) => join('senders', name)),
      ];
      assert.deepEqual(files.sort(), known.sort());
    });
    for (const name of files) {
      test(name, () => assert.ok(shown.includes(readFileSync(join(GUIDES, name), 'utf8'))));
    }
  });

  describe('send a payload to POST /proxy/jose', () => {
    const send = ({ command, trustedBy }: Sender, body: string, authority: string): Promise<Ran> => {
      const url = `https://localhost:${service.ports.sandbox}/proxy/jose`;
      const trusted = file(authority);
      const env = {
        ...withoutSettings(process.env),
        KEY: merchant.key,
        ...(trustedBy === 'variable' && { NODE_EXTRA_CA_CERTS: trusted }),
      };
      const args = trustedBy === 'argument' ? [trusted] : [];
      return run([...command, url, file(body), ...args], { env });
    };

    for (const sender of SENDING) {
      const { skip } = sender;

      test(sender.file, { skip }, async () => {
        const body = `{"cardData": {"number": "{{${merchant.token}:detokenize}}", "name": "José Núñez"}}`;
        const { code, out, err } = await send(sender, body, service.authority);
        assert.equal(code, 0, err);
        const opened = await run([...node('open-jose.mjs'), file(out), file(processorKey), file(merchant.publicKey)]);
        assert.equal(opened.out, body.replace(/\{\{.*?\}\}/, VISA));
      });

      test(`${sender.file} reports a rejection`, { skip: skip || onlyLongInJava(sender.file) }, async () => {
        const ran = await send(sender, '{"cardData": 1}', service.authority);
        assertRefused(ran);
        assert.match(ran.err, /400 .*cardData: expected an object/);
      });

      test(`${sender.file} trusts no other certificate authority`, { skip }, async () => {
        const ran = await send(sender, '{}', processorCertificate);
        assertRefused(ran);
        assert.match(ran.err, /certificate|PKIX/i);
      });
    }
  });

  describe('decrypt and verify a response of POST /proxy/jose', { concurrency: 2 }, () => {
    const answerOf = async (of: Merchant): Promise<{ response: string; payload: string }> => {
      const card = (part: string): string => `{{${of.token}:detokenize | extract:${part}}}`;
      const body = `{"amount": 0.00, "cardData": {"number": "${card('card')}", "name": "${card('name')}"}}`;
      const { text } = await of.send('/proxy/jose', 'application/json', body);
      return { response: text, payload: body.replace(card('card'), VISA).replace(card('name'), 'José Núñez') };
    };
    const open = ({ command }: Program, response: string, publicKey: string): Promise<Ran> =>
      run([...command, file(response), file(processorKey), file(publicKey)]);

    for (const program of JOSE) {
      const skip = program.tool === undefined ? false : absent(program.tool);

      test(`${program.file}`, { skip }, async () => {
        const { response, payload } = await answerOf(merchant);
        const { code, out, err } = await open(program, response, merchant.publicKey);
        assert.deepEqual({ code, out }, { code: 0, out: payload }, err);
      });

      test(`${program.file} rejects that of another merchant`, { skip }, async () => {
        const { response } = await answerOf(other);
        assertRefused(await open(program, response, merchant.publicKey));
      });

      test(`${program.file} rejects a value that is not the signed one`, { skip }, async () => {
        const [one, another] = [await answerOf(merchant), await answerOf(merchant)];
        const { data } = JSON.parse(one.response);
        const mixed = { data: { ...data, value: JSON.parse(another.response).data.value } };
        assertRefused(await open(program, JSON.stringify(mixed), merchant.publicKey));
      });
    }
  });

  const envelopeOf = async (of: Merchant): Promise<{ envelope: string; payload: string }> => {
    const card = (part: string): string => `{{${of.token}:detokenize | extract:${part}}}`;
    const body = `<compra xmlns="http://www.example.com/compra"><tarjeta nombre="${card('name')}">${card('card')}</tarjeta></compra>`;
    const { json } = await of.send('/proxy/wssec', 'application/xml', body);
    return { envelope: json.data.xml, payload: body.replace(card('card'), VISA).replace(card('name'), 'José Núñez') };
  };
  const open = ({ command, needsOwnCertificate }: Program, envelope: string): Promise<Ran> => {
    const own = needsOwnCertificate === true ? [file(processorCertificate)] : [];
    return run([...command, file(envelope), file(processorKey), ...own, file(merchant.certificate)]);
  };

  describe('decrypt and verify an envelope of POST /proxy/wssec', { concurrency: 2 }, () => {
    /** Changes of an envelope; each one keeps a signature that is valid over some part. */
    const attacks: readonly (readonly [name: string, change: (envelope: string) => string])[] = [
      ['with the signed Body elsewhere', (envelope) => wrapped(envelope, (body) => newIds(body))],
      ['whose Body was changed', (envelope) => envelope.replace(/(<soapenv:Body .*<xenc:CipherValue>)..../, '$1AAAA')],
      ['without signature', (envelope) => envelope.replace(/<ds:Signature .*<\/ds:Signature>/, '')],
      ['with two Bodies of one id', (envelope) => wrapped(envelope, (body) => body.replace('#Content', '#Element'))],
      [
        'with another Timestamp in front',
        (envelope) =>
          envelope.replace(/<wsu:Timestamp .*<\/wsu:Timestamp>/, (timestamp) => newIds(timestamp) + timestamp),
      ],
      ['whose Timestamp was changed', (envelope) => envelope.replace(/<wsu:Expires>20/, '<wsu:Expires>21')],
    ];

    for (const program of WSSEC) {
      const skip = program.tool === undefined ? false : absent(program.tool);

      test(`${program.file}`, { skip }, async () => {
        const { envelope, payload } = await envelopeOf(merchant);
        const { code, out, err } = await open(program, envelope);
        assert.deepEqual({ code, out }, { code: 0, out: payload }, err);
      });

      test(`${program.file} rejects that of another merchant`, { skip }, async () => {
        assertRefused(await open(program, (await envelopeOf(other)).envelope));
      });

      for (const [name, change] of isStartedOften(program) ? attacks : attacks.slice(0, 1)) {
        test(`${program.file} rejects one ${name}`, { skip }, async () => {
          const { envelope } = await envelopeOf(merchant);
          const changed = change(envelope);
          assert.notEqual(changed, envelope);
          assertRefused(await open(program, changed));
        });
      }
    }
  });

  // One after another, as it moves the clock of the service.
  describe('check the time of an envelope', () => {
    for (const program of WSSEC) {
      const skip = program.tool === undefined ? false : absent(program.tool);
      test(`${program.file}`, { skip }, async () => {
        service.advance(-600_000);
        try {
          assertRefused(await open(program, (await envelopeOf(merchant)).envelope));
        } finally {
          service.advance(600_000);
        }
      });
    }
  });
});

/**
 * Blocks that are marked `sh`, pasted into one shell in an empty folder with a service that has just started. Guides of
 * the proxy are pasted into shells of their own, each with what proxy.md left and no other.
 */
describe('guides can be followed', { concurrency: 2 }, () => {
  const missing = ['bash', 'curl', 'jq', 'openssl'].filter((command) => !onPath(command));
  const skip = missing.length === 0 ? false : `no ${missing.join(', ')}`;
  const optional = [...JOSE, ...WSSEC]
    .map(({ file: name, tool }) => ({ name, lacks: tool !== undefined && absent(tool) !== false }))
    .concat(SENDING.map(({ file: name, skip: why }) => ({ name, lacks: why !== false })))
    // Java compiles its source at each such start, for seconds; the tests above run the compiled programs.
    .map(({ name, lacks }) => ({ name, lacks: lacks || (!isLong && name.endsWith('.java')) }))
    .concat({ name: 'backup-identity.txt', lacks: !onPath('age-keygen') });
  const isPossible = ({ text }: Block): boolean => !optional.some(({ name, lacks }) => lacks && text.includes(name));

  for (const { page, following, usesFiles = false } of FOLLOWED) {
    const lacksForm = page === 'docs/guides/browser.md' && !existsSync(FORM) && 'the card form is not built';
    test([page, ...following].join(', '), { skip: skip || lacksForm, timeout: 120_000 }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
      const serving = await serveInProcess(join(folder, 'data'), ['--json']);
      const { sandbox, demo_key: key } = JSON.parse(serving.printed);
      const account = await accountOf(sandbox, key, join(folder, 'data', 'tls', 'ca.pem'));
      for (const { info, text } of blocksOf(page)) {
        const [, name] = /^(?:csv|python) (\S+)$/.exec(info) ?? [];
        if (name !== undefined) writeFileSync(join(folder, name), text);
      }
      // The many commands cost seconds as processes.
      const commands = isLong || usesFiles ? undefined : await answerCommands(folder);
      try {
        const commandsOf = (name: string): string => {
          const blocks = blocksOf(name).filter(({ info }) => info === 'sh');
          const text = blocks.filter(isPossible).map((block) => `${block.text}\n`);
          return text.join('').replaceAll('cv_sandbox_...', key).replaceAll('acct_...', account);
        };
        const followed = following.map((name) => `${AS_IT_WAS}\n${commandsOf(name)})\necho '${END_OF} ${name}'\n`);
        const script = [commandsOf(page), ...(following.length > 0 ? [KEEP] : []), ...followed].join('\n');
        const { code, out, err } = await run(
          ['bash', '-euxo', 'pipefail', '-c', script.replaceAll('https://localhost:8444', sandbox)],
          { cwd: folder, env: newcomer(folder, commands?.command ?? COMMAND) },
        );
        assert.equal(code, 0, err);
        const printed = out.split(new RegExp(`^${END_OF} .*$`, 'm'));
        for (const [index, name] of (following.length > 0 ? following : [page]).entries()) {
          for (const { info, text } of blocksOf(name)) {
            if (/ printed$/.test(info))
              assert.ok(printed[index]?.includes(text.trimEnd()), `${name}: not printed: ${text}`);
          }
        }
      } finally {
        await commands?.stop();
        await serving.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});

/** Returns the id of the account that a key belongs to, as `npx cardvault account list` shows it. */
async function accountOf(sandbox: string, key: string, ca: string): Promise<string> {
  const { out } = await run(['curl', '-sS', '--cacert', ca, '-H', `x-api-key: ${key}`, `${sandbox}/v1/account`]);
  return JSON.parse(out).data.id;
}

/** Restores the keys and messages of the first guide for each guide that follows, in a shell of its own. */
const KEEP = 'cp -r $TRIAL $TRIAL.kept';
const AS_IT_WAS = '(rm -r $TRIAL; cp -r $TRIAL.kept $TRIAL';
const END_OF = 'the end of';

const COMMAND = `exec '${process.execPath}' '${BIN}' "$@"`;

/** Runs commands in this process for a line of a shell that sends it their arguments, and prints what they print. */
async function answerCommands(folder: string): Promise<{ command: string; stop(): Promise<void> }> {
  const shell = new Shell(join(folder, 'data'));
  const socket = join(folder, 'commands');
  const server = createServer(async (request, response) => {
    const { code, out, err } = await shell.run(...(await text(request)).split('\n').slice(0, -1));
    response.writeHead(code === 0 ? 200 : 500).end(code === 0 ? out : err);
  }).listen(socket);
  await once(server, 'listening');
  return {
    command: `printf '%s\\n' "$@" | curl -sS --fail-with-body --unix-socket '${socket}' --data-binary @- http://localhost/`,
    stop: async () => {
      server.close();
      await shell.close();
    },
  };
}

/** The environment of a reader who has only the project, in this folder, where `cardvault` is a line of a shell. */
function newcomer(folder: string, cardvault: string): NodeJS.ProcessEnv {
  const commands = join(folder, 'bin');
  mkdirSync(commands);
  symlinkSync(DOCS, join(folder, 'docs'));
  const command = (name: string, line: string): void =>
    writeFileSync(join(commands, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  command('npx', `shift; ${cardvault}`);
  command('python3', `exec '${python}' -B "$@"`);
  const path = [commands, dirname(process.execPath), process.env['PATH']].join(delimiter);
  return { ...withoutSettings(process.env), HOME: folder, PATH: path };
}

/** Exited with an error status, without output about the content. */
function assertRefused({ code, out, err }: Ran): void {
  assert.deepEqual({ code, out }, { code: 1, out: '' }, err);
}

const newIds = (xml: string): string => xml.replace(/ wsu:Id="/, ' wsu:Id="x');

/** Moves the signed Body into an unknown element of the header, and puts another one in its place. */
function wrapped(envelope: string, make: (body: string) => string): string {
  const body = /<soapenv:Body .*<\/soapenv:Body>/.exec(envelope)?.[0] ?? '';
  const shell = `<x:shell xmlns:x="http://www.example.com/x">${body}</x:shell></soapenv:Header>`;
  return envelope.replace(body, make(body)).replace('</soapenv:Header>', shell);
}
