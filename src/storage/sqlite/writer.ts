import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';

/** The writer thread of a database file, as the thread that starts it sees it. */
export class Writer {
  readonly #thread: Worker;

  /** `onEnd`: called with the reason when the thread has ended in any way. */
  constructor(path: string, onEnd: (reason: string) => void) {
    this.#thread = new Worker(new URL('./writer-thread.ts', import.meta.url), {
      name: 'sqlite-writer',
      workerData: { path },
    });
    // Its only message: the disk has failed, and no connection may be closed any more.
    this.#thread.on('message', () => process.abort());
    this.#thread.on('error', (error) => onEnd(error instanceof Error ? error.message : 'an error'));
    this.#thread.on('exit', () => onEnd('the writer ended'));
  }

  /** Returns a port to the writer, for one `SqliteDatabase` of this thread or of another. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#thread.postMessage(port1, [port1]);
    return port2;
  }

  async end(): Promise<void> {
    await this.#thread.terminate();
  }
}
