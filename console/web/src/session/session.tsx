import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import type { ValueOf } from '../../../../src/http/fields.ts';
import { showSession } from '../../../wire/session.ts';
import { type CallError, call, listenToCalls, setCsrfToken } from '../api/call.ts';
import { listenToTabs, postToTabs } from './tab-sync.ts';

/** How far this browser is, as the service tells it. */
type SessionView = ValueOf<typeof showSession.data>;
export type Session = NonNullable<SessionView['session']>;

interface SessionControls {
  /** Undefined while it is being read. */
  readonly visit: SessionView | undefined;
  readonly error: CallError | null;
  /** Reads it anew. */
  readonly refresh: () => Promise<unknown>;
  /** An answer of the service said how the session is now. */
  readonly setSession: (session: Session) => void;
  /** The service does not know this session any more; `byHand`: because the person left. */
  readonly clearSession: (isSignOut?: boolean) => void;
  /** Who left by hand does not come back to the same page: the next one may be somebody else. */
  readonly hasSignedOut: boolean;
  /** Somebody was signed in on this page, and did not leave by hand. */
  readonly hasEnded: boolean;
}

const SESSION_KEY = [showSession.path];
const Context = createContext<SessionControls | undefined>(undefined);

/** What one person has read is not for the next one. */
function dropOtherUsersData(client: QueryClient, person: string | undefined): void {
  const before = client.getQueryData<SessionView>(SESSION_KEY);
  if (before !== undefined && before.session?.person.id !== person)
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== showSession.path });
}

async function loadSession(client: QueryClient): Promise<SessionView> {
  // Asked for by a timer or the window, but for the first time.
  const isPassive = client.getQueryData(SESSION_KEY) !== undefined;
  const visit = await call(showSession, {}, isPassive);
  setCsrfToken(visit.csrf_token ?? '');
  dropOtherUsersData(client, visit.session?.person.id);
  return visit;
}

function storeSession(client: QueryClient, session: Session | null): void {
  setCsrfToken(session?.csrf_token ?? '');
  dropOtherUsersData(client, session?.person.id);
  client.setQueryData<SessionView>(
    SESSION_KEY,
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
  const [hasSignedOut, setSignedOut] = useState(false);
  const { data: visit, error } = useQuery<SessionView, CallError>({
    queryKey: SESSION_KEY,
    queryFn: () => loadSession(client),
    // A machine that slept must not show a session that ended meanwhile.
    refetchOnWindowFocus: 'always',
    retry: (count, { status }) => status >= 500 && count < 2,
  });
  const [wasSignedIn, setSignedIn] = useState(false);
  if (visit?.session && !wasSignedIn) setSignedIn(true);
  const hasEnded = wasSignedIn && !hasSignedOut && visit?.session === null;
  const refresh = useCallback(() => client.invalidateQueries({ queryKey: SESSION_KEY }), [client]);
  const clearSession = useCallback(
    (isSignOut = false) => {
      // Nobody leaves a session that is over already.
      if (client.getQueryData<SessionView>(SESSION_KEY)?.session) setSignedOut(isSignOut);
      storeSession(client, null);
    },
    [client],
  );
  const setSession = useCallback(
    (session: Session) => {
      setSignedOut(false);
      storeSession(client, session);
      postToTabs('signed-in');
    },
    [client],
  );
  useEffect(() => listenToCalls({ onSignedOut: clearSession }), [clearSession]);
  useEffect(
    () =>
      listenToTabs((event) => {
        if (event === 'signed-out') clearSession(true);
        else if (event === 'signed-in') void refresh();
      }),
    [clearSession, refresh],
  );
  const value = useMemo(
    () => ({ visit, error, refresh, setSession, clearSession, hasSignedOut, hasEnded }),
    [visit, error, refresh, setSession, clearSession, hasSignedOut, hasEnded],
  );
  return <Context value={value}>{children}</Context>;
}

export function useSessionControls(): SessionControls {
  const controls = use(Context);
  if (controls === undefined) throw new Error('not within a SessionProvider');
  return controls;
}

/** Of the person who is signed in; only for what is shown to them alone. */
export function useSession(): Session {
  const { visit } = useSessionControls();
  if (!visit?.session) throw new Error('nobody is signed in');
  return visit.session;
}
