import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { signature } from './bare-signature.ts';

/**
 * The bare machine: asynchronous RSA-2048 signatures and nothing else, in a process of its own, with enough on their
 * way to keep the thread pool at work on all cores.
 */
export interface SignerOrder {
  readonly milliseconds: number;
}

export interface Signatures {
  readonly count: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU microseconds of all threads, and of the main thread alone. */
  readonly cpu: number;
  readonly main: number;
  readonly rss: number;
}

export type SignerReport = { readonly signatures: Signatures } | { readonly error: string };

const ON_THE_WAY = 16;
/** About the size of a JOSE payload. */
const DATA_BYTES = 1200;

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const key = createPrivateKey(privateKey);
const data = randomBytes(DATA_BYTES);

async function run(milliseconds: number): Promise<Signatures> {
  const latencies: number[] = [];
  const before = { all: process.cpuUsage(), main: process.threadCpuUsage() };
  const start = performance.now();
  const end = start + milliseconds;
  const signOn = async (): Promise<void> => {
    for (let at = performance.now(); at < end; ) {
      await signature(data, key);
      const now = performance.now();
      latencies.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: ON_THE_WAY }, signOn));
  const seconds = (performance.now() - start) / 1000;
  const [all, main] = [process.cpuUsage(before.all), process.threadCpuUsage(before.main)];
  latencies.sort((one, other) => one - other);
  const at = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return {
    count: latencies.length,
    seconds,
    p50: at(0.5),
    p99: at(0.99),
    cpu: all.user + all.system,
    main: main.user + main.system,
    rss: process.memoryUsage.rss(),
  };
}

process.on('message', ({ milliseconds }: SignerOrder) => {
  run(milliseconds).then(
    (signatures) => process.send?.({ signatures } satisfies SignerReport),
    (error: Error) => process.send?.({ error: error.message } satisfies SignerReport),
  );
});
process.on('disconnect', () => process.exit(0));
