import { join } from 'node:path';
import type { Config } from './config.ts';
import type { OpenCore } from './core.ts';
import { cardFormHeaders, cardFormRoutes } from './http/card-form.ts';
import { type CardFormFiles, loadCardFormFiles } from './http/card-form-files.ts';
import type { CardFormListener } from './http/endpoint.ts';
import { ListenError, Listeners } from './http/listeners.ts';
import type { Log } from './http/log.ts';
import { tokenBucketsPerMinute } from './http/rate-limit.ts';
import { addPublicRoutes, createBaseServer } from './http/server.ts';
import type { TlsOptions } from './http/tls.ts';
import { createConnectionLimit, type Node } from './node.ts';

const FOLDER = join(import.meta.dirname, '..', 'card-form');

interface CardListenerParts {
  readonly core: OpenCore;
  readonly config: Config;
  readonly log: Log;
  readonly node: Node;
}

/** The listener of the card form; it is the only one that may be missing. */
export interface CardListener extends CardFormListener {
  /** 0 when it does not listen. */
  readonly port: number;
  /**
   * Listens for browsers. Without a configured port another process may have the default one: then the service starts without the
   * card form, and sessions are 503. The same holds when the form was not built.
   */
  listen(tls: TlsOptions): Promise<void>;
  setCertificate(tls: TlsOptions): void;
  close(drainMs: number): Promise<void>;
}

export function createCardListener(parts: CardListenerParts): CardListener {
  const { config, log } = parts;
  const files = loadCardFormFiles(FOLDER);
  const state = { isServed: false, origin: originOf(config, config.ports.cards) };
  const origin = (): string => state.origin;
  const listeners = files && createListeners(parts, files, origin);
  return {
    get port() {
      return state.isServed ? (listeners?.ports.cards ?? 0) : 0;
    },
    origin,
    isServed: () => state.isServed,
    isOriginConfigured: config.cardForm.origin !== undefined,
    listen: async (tls) => {
      if (listeners === undefined) {
        log.warn('card form not built');
        return;
      }
      try {
        await listeners.listen({ cards: config.ports.cards }, { hosts: config.hosts, tls });
        // Every request needs it, and the port costs a call of the operating system.
        state.origin = originOf(config, listeners.ports.cards ?? config.ports.cards);
        state.isServed = true;
      } catch (error) {
        if (!(error instanceof ListenError) || !config.cardForm.mayBeMissing) throw error;
        log.warn('card form not served', { reason: error.message });
      }
    },
    setCertificate: (tls) => listeners?.setCertificate(tls),
    close: async (drainMs) => listeners?.close(drainMs),
  };
}

export const originOf = ({ cardForm }: Pick<Config, 'cardForm'>, port: number): string =>
  cardForm.origin ?? `https://localhost:${port}`;

function createListeners(
  { core, config, log, node }: CardListenerParts,
  files: CardFormFiles,
  origin: () => string,
): Listeners<'cards'> {
  const { transactions, time } = core;
  const options = {
    ...node.reporting,
    listener: 'cards',
    headers: cardFormHeaders(origin),
  };
  const app = createBaseServer(options);
  const { perMinute } = config.cardForm;
  const buckets = perMinute === 0 ? undefined : tokenBucketsPerMinute(node.buckets, 'card-form', perMinute);
  const { captureSessions: sessions } = node;
  const routes = cardFormRoutes({ sessions, transactions, time, files, origin, buckets });
  addPublicRoutes(app, [...node.publicHealth, ...routes], options);
  return new Listeners(
    { cards: app },
    (listener) => createConnectionLimit({ config, core, log }, node, listener),
    (listener) => node.metrics.countTooManyPipelined(listener),
  );
}
