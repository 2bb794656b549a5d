import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import type { UnsealProgress } from '../crypto/custody/share-collector.ts';
import { sealShare } from '../crypto/custody/share-transport.ts';
import { SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';

const TIMEOUT_MS = 20 * SECOND;

class UnsealError extends OperatorError {
  override readonly name = 'UnsealError';
}

/** A node that is reached over TLS. */
export interface RemoteNode {
  /** The address of its console, `https://HOST:PORT`. */
  readonly url: string;
  /** A file with the CA to trust, PEM; undefined: those that Node trusts. */
  readonly caFile: string | undefined;
}

/** Gives a share to a sealed node. Throws `UnsealError`, whose message never contains the share. */
export async function giveShareOverTls(
  { url, caFile }: RemoteNode,
  share: { readonly ceremony: string; readonly index: number; readonly share: Uint8Array },
): Promise<UnsealProgress> {
  const address = URL.parse('/unseal', url);
  if (address?.protocol !== 'https:') throw new UnsealError('--node: expected https://HOST:PORT');
  const ca = caFile === undefined ? {} : { ca: readCa(caFile) };
  const shown = await send(address, { ...ca, method: 'GET', agent: false }, Buffer.alloc(0));
  const nodeKey = parseAnswer(shown.text)['key'];
  if (shown.status !== 200 || nodeKey === undefined) throw new UnsealError('the node is not sealed');
  const body = Buffer.from(JSON.stringify(sealShare(nodeKey, share)));
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  const { status, text } = await send(address, { ...ca, method: 'POST', headers, agent: false }, body);
  const answer = parseAnswer(text);
  if (status === 200 && typeof answer['threshold'] === 'number') return answer as unknown as UnsealProgress;
  const message = typeof answer['message'] === 'string' ? answer['message'] : `it responded with ${status}`;
  throw new UnsealError(`the node did not take the share: ${message}`);
}

function readCa(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    throw new UnsealError(`--ca: ${file} cannot be read`);
  }
}

function parseAnswer(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}

const send = (
  address: URL,
  options: Parameters<typeof request>[1],
  body: Buffer,
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const outgoing = request(address, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.length > LIMITS.unsealBodyBytes) response.destroy();
      });
      response.on('close', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.setTimeout(TIMEOUT_MS, () => outgoing.destroy());
    outgoing.on('error', ({ code }: NodeJS.ErrnoException) =>
      reject(new UnsealError(`the node cannot be reached over TLS (${code ?? 'timeout'}); see --node and --ca`)),
    );
    outgoing.end(body);
  });
