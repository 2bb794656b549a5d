import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import type { ValueOf } from '../../../../src/http/fields.ts';
import { showSession } from '../../../wire/session.ts';
import { type CallError, call, listenToCalls, setCsrfToken } from '../api/call.ts';
import { hearOtherTabs, tellOtherTabs } from './other-tabs.ts';

/** How far this browser is, as the service tells it. */
type Visit = ValueOf<typeof showSession.data>;
export type Session = NonNullable<Visit['session']>;

interface Visiting {
  /** Undefined while it is being read. */
  readonly visit: Visit | undefined;
  readonly error: CallError | null;
  /** Reads it anew. */
  readonly refresh: () => Promise<unknown>;
  /** An answer of the service said how the session is now. */
  readonly adopt: (session: Session) => void;
  /** The service does not know this session any more; `byHand`: because the person left. */
  readonly forget: (byHand?: boolean) => void;
  /** Who left by hand does not come back to the same page: the next one may be somebody else. */
  readonly wasLeft: boolean;
  /** Somebody was signed in on this page, and did not leave by hand. */
  readonly hasEnded: boolean;
}

const VISIT_KEY = [showSession.path];
const Context = createContext<Visiting | undefined>(undefined);

/** What one person has read is not for the next one. */
function dropOthers(client: QueryClient, person: string | undefined): void {
  const before = client.getQueryData<Visit>(VISIT_KEY);
  if (before !== undefined && before.session?.person.id !== person)
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== showSession.path });
}

async function readVisit(client: QueryClient): Promise<Visit> {
  // Asked for by a timer or the window, but for the first time.
  const isPassive = client.getQueryData(VISIT_KEY) !== undefined;
  const visit = await call(showSession, {}, isPassive);
  setCsrfToken(visit.csrf_token ?? '');
  dropOthers(client, visit.session?.person.id);
  return visit;
}

function put(client: QueryClient, session: Session | null): void {
  setCsrfToken(session?.csrf_token ?? '');
  dropOthers(client, session?.person.id);
  client.setQueryData<Visit>(
    VISIT_KEY,
    (before) =>
      before && {
        ...before,
        session,
        stage: session === null ? 'nobody' : 'signed-in',
        methods: session === null ? [] : before.methods,
      },
  );
}

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient();
  const [wasLeft, setLeft] = useState(false);
  const { data: visit, error } = useQuery<Visit, CallError>({
    queryKey: VISIT_KEY,
    queryFn: () => readVisit(client),
    // A machine that slept must not show a session that ended meanwhile.
    refetchOnWindowFocus: 'always',
    retry: (count, { status }) => status >= 500 && count < 2,
  });
  const [wasSignedIn, setSignedIn] = useState(false);
  if (visit?.session && !wasSignedIn) setSignedIn(true);
  const hasEnded = wasSignedIn && !wasLeft && visit?.session === null;
  const refresh = useCallback(() => client.invalidateQueries({ queryKey: VISIT_KEY }), [client]);
  const forget = useCallback(
    (byHand = false) => {
      // Nobody leaves a session that is over already.
      if (client.getQueryData<Visit>(VISIT_KEY)?.session) setLeft(byHand);
      put(client, null);
    },
    [client],
  );
  const adopt = useCallback(
    (session: Session) => {
      setLeft(false);
      put(client, session);
      tellOtherTabs('signed-in');
    },
    [client],
  );
  useEffect(() => listenToCalls({ onSignedOut: forget }), [forget]);
  useEffect(
    () =>
      hearOtherTabs((news) => {
        if (news === 'signed-out') forget(true);
        else if (news === 'signed-in') void refresh();
      }),
    [forget, refresh],
  );
  const value = useMemo(
    () => ({ visit, error, refresh, adopt, forget, wasLeft, hasEnded }),
    [visit, error, refresh, adopt, forget, wasLeft, hasEnded],
  );
  return <Context value={value}>{children}</Context>;
}

export function useVisit(): Visiting {
  const visiting = use(Context);
  if (visiting === undefined) throw new Error('not within a SessionProvider');
  return visiting;
}

/** Of the person who is signed in; only for what is shown to them alone. */
export function useSession(): Session {
  const { visit } = useVisit();
  if (!visit?.session) throw new Error('nobody is signed in');
  return visit.session;
}
