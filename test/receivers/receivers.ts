import { join } from 'node:path';
import { publicOf, selfSigned } from './certificates.ts';
import { absent, python, type Tool } from './install.ts';
import { type Program, startJava } from './java.ts';
import { LineProcess, Lines } from './lines.ts';
import { openJose } from './node-jose.ts';
import { openEnvelope } from './node-receiver.ts';

export { type Identity, newIdentity, selfSigned } from './certificates.ts';
export { Refused } from './lines.ts';

/** Processors as merchants meet them: Java with WSS4J or without, Python with libxmlsec, and one written here. */
export const ENVELOPE_RECEIVERS = ['wss4j', 'santuario', 'python-xmlsec', 'node-envelope'] as const;
export const JOSE_RECEIVERS = ['jdk', 'jwcrypto', 'node-jose'] as const;
export type EnvelopeKind = (typeof ENVELOPE_RECEIVERS)[number];
export type JoseKind = (typeof JOSE_RECEIVERS)[number];

/** The keys of a processor. */
export interface ReceiverKeys {
  /** PEM, PKCS#8. */
  readonly processorKey: string;
  /** Made up when missing: a processor need not have one. */
  readonly processorCertificate?: string;
  /** A certificate; for JOSE a public key will do. */
  readonly merchant: string;
  /** Names and passwords of UsernameTokens. */
  readonly users?: Readonly<Record<string, string>>;
}

export interface ReceiverOptions {
  /** WSS4J refuses nonces and signatures that it has seen, as it does in a stock installation. */
  readonly refuseReplays?: boolean;
}

export interface EnvelopeMessage {
  readonly envelope: string;
  /** Milliseconds to judge the message by; now, when missing. */
  readonly at?: number;
}

export interface OpenedEnvelope {
  /** The elements of the header, in its order: `Timestamp`, `BinarySecurityToken`, `Signature`, `Encrypt`, … */
  readonly actions: readonly string[];
  /** Local names of the signed elements; Body, Timestamp and tokens of the header are among them, or it is refused. */
  readonly signed: readonly string[];
  /** Local names of elements that were encrypted, whole or their content. Body is among them. */
  readonly encrypted: readonly string[];
  /** The content of the Body, as the receiver's own serializer writes it. */
  readonly content: string;
  /** The same, each node of it in exclusive canonical form: alike for all receivers. */
  readonly canonical: string;
  /** The UsernameToken's name; empty without one. */
  readonly user: string;
}

export interface JoseMessage {
  readonly value: string;
  readonly encryption?: string;
  /** The payload stands in `value` unsigned. */
  readonly plain?: boolean;
}

export interface OpenedJose {
  readonly payload: string;
  /** Headers, as JSON: of the JWE, of the JWS inside it, and of `encryption`; empty where there is none. */
  readonly header: string;
  readonly signedHeader: string;
  readonly encryptionHeader: string;
}

export interface Receiver<Message, Opened> {
  /** Rejects with a Refused when the receiver does not accept the message. */
  open(message: Message): Promise<Opened>;
}

const TOOLS: Readonly<Partial<Record<EnvelopeKind | JoseKind, Tool>>> = {
  wss4j: 'java-wss4j',
  santuario: 'java-santuario',
  'python-xmlsec': 'python-xmlsec',
  jdk: 'java',
  jwcrypto: 'python-jwcrypto',
};

const PROGRAMS: Readonly<Partial<Record<EnvelopeKind | JoseKind, Program['classes']>>> = {
  wss4j: ['Wss4jReceiver', 'Wire', 'Xml'],
  santuario: ['SantuarioReceiver', 'Wire', 'Xml'],
  jdk: ['JoseReceiver', 'Wire'],
};

const SCRIPTS: Readonly<Partial<Record<EnvelopeKind | JoseKind, string>>> = {
  'python-xmlsec': 'wssec_receiver.py',
  jwcrypto: 'jose_receiver.py',
};

/** False when the receiver can run on this machine, else why not: for the `skip` of a test. */
export function absentReceiver(kind: EnvelopeKind | JoseKind): string | false {
  const tool = TOOLS[kind];
  return tool === undefined ? false : absent(tool);
}

export function startReceiver(
  kind: EnvelopeKind,
  keys: ReceiverKeys,
  options?: ReceiverOptions,
): Promise<Receiver<EnvelopeMessage, OpenedEnvelope>>;
export function startReceiver(
  kind: JoseKind,
  keys: ReceiverKeys,
  options?: ReceiverOptions,
): Promise<Receiver<JoseMessage, OpenedJose>>;
export async function startReceiver(
  kind: EnvelopeKind | JoseKind,
  keys: ReceiverKeys,
  options: ReceiverOptions = {},
): Promise<unknown> {
  if (kind === 'node-envelope') {
    return inProcess(({ envelope, at }: EnvelopeMessage) => openEnvelope(envelope, keys, at ?? Date.now()));
  }
  if (kind === 'node-jose') return inProcess((message: JoseMessage) => openJose(message, keys));
  const isJose = (JOSE_RECEIVERS as readonly string[]).includes(kind);
  const lines = await startProcess(kind);
  await lines.send(await setupOf(keys, options, isJose));
  return { open: isJose ? openJoseBy(lines) : openEnvelopeBy(lines) };
}

const inProcess = <Message, Opened>(open: (message: Message) => Opened | Promise<Opened>) => ({
  open: async (message: Message) => open(message),
});

async function startProcess(kind: EnvelopeKind | JoseKind): Promise<Lines> {
  const script = SCRIPTS[kind];
  // -B: no compiled files among the sources.
  if (script !== undefined) return new Lines(new LineProcess(kind, python, ['-B', join(import.meta.dirname, script)]));
  const [tool, classes] = [TOOLS[kind], PROGRAMS[kind]];
  if (tool === undefined || classes === undefined) throw new Error(`no receiver ${kind}`);
  return startJava({ tool, classes });
}

/** The first line to a receiver; see Wire.java. */
async function setupOf(keys: ReceiverKeys, options: ReceiverOptions, isJose: boolean): Promise<string[]> {
  const { processorKey, merchant, users = {} } = keys;
  const certificate = keys.processorCertificate ?? (isJose ? '' : await selfSigned(processorKey, 'processor'));
  return [
    processorKey,
    certificate,
    isJose ? '' : merchant,
    publicOf(merchant),
    Object.entries(users)
      .map(([name, password]) => `${name}\t${password}`)
      .join('\n'),
    options.refuseReplays === true ? 'refuse-replays' : '',
  ];
}

const listOf = (text: string): string[] => (text === '' ? [] : text.split(','));

const openEnvelopeBy =
  (lines: Lines) =>
  async ({ envelope, at }: EnvelopeMessage): Promise<OpenedEnvelope> => {
    const fields = await lines.send([envelope, at === undefined ? '' : String(at)]);
    const [actions = '', signed = '', encrypted = '', content = '', canonical = '', user = ''] = fields;
    return {
      actions: listOf(actions),
      signed: listOf(signed),
      encrypted: listOf(encrypted),
      content,
      canonical,
      user,
    };
  };

const openJoseBy =
  (lines: Lines) =>
  async ({ value, encryption = '', plain = false }: JoseMessage): Promise<OpenedJose> => {
    const fields = await lines.send([value, encryption, plain ? 'plain' : 'signed']);
    const [payload = '', header = '', signedHeader = '', encryptionHeader = ''] = fields;
    return { payload, header, signedHeader, encryptionHeader };
  };
