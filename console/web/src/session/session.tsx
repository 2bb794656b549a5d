import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import type { ValueOf } from '../../../../src/http/fields.ts';
import { showSession } from '../../../wire/session.ts';
import { type CallError, call, listenToCalls, setCsrfToken } from '../api/call.ts';
import { listenToTabs, postToTabs } from './tab-sync.ts';

/** Sign-in state of this browser, as the service reports it. */
type SessionView = ValueOf<typeof showSession.data>;
export type Session = NonNullable<SessionView['session']>;

interface SessionControls {
  /** Undefined while it loads. */
  readonly visit: SessionView | undefined;
  readonly error: CallError | null;
  /** Loads the session again. */
  readonly refresh: () => Promise<unknown>;
  /** Sets the session from a response of the service. */
  readonly setSession: (session: Session) => void;
  /** Clears the session; `isSignOut` when the user signed out. */
  readonly clearSession: (isSignOut?: boolean) => void;
  /** After a sign-out the next user starts at the first page, not at the previous one's. */
  readonly hasSignedOut: boolean;
  /** A session on this page ended without a sign-out. */
  readonly hasEnded: boolean;
}

const SESSION_KEY = [showSession.path];
const Context = createContext<SessionControls | undefined>(undefined);

/** Removes data that another user loaded. */
function dropOtherUsersData(client: QueryClient, person: string | undefined): void {
  const before = client.getQueryData<SessionView>(SESSION_KEY);
  if (before !== undefined && before.session?.person.id !== person)
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== showSession.path });
}

async function loadSession(client: QueryClient): Promise<SessionView> {
  // All reads but the first are periodic.
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
        stage: session === null ? 'signed-out' : 'signed-in',
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
    // A machine that was asleep must not show an expired session.
    refetchOnWindowFocus: 'always',
    retry: (count, { status }) => status >= 500 && count < 2,
  });
  const [wasSignedIn, setSignedIn] = useState(false);
  if (visit?.session && !wasSignedIn) setSignedIn(true);
  const hasEnded = wasSignedIn && !hasSignedOut && visit?.session === null;
  const refresh = useCallback(() => client.invalidateQueries({ queryKey: SESSION_KEY }), [client]);
  const clearSession = useCallback(
    (isSignOut = false) => {
      // An expired session cannot be signed out.
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

/** Returns the session; throws when no user is signed in. */
export function useSession(): Session {
  const { visit } = useSessionControls();
  if (!visit?.session) throw new Error('no user is signed in');
  return visit.session;
}
