import type { CDPSession } from 'playwright-core';

/** A device with passkeys, such as a phone, without a user: it confirms automatically. */
export interface Authenticator {
  /** How many passkeys it holds. */
  count(): Promise<number>;
  /** True when it recognizes its owner from now on. */
  recognize(owner: boolean): Promise<void>;
  remove(): Promise<void>;
}

/** Plugged into one page; what it holds is gone with it. */
export async function addAuthenticator(session: CDPSession): Promise<Authenticator> {
  await session.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    count: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length,
    recognize: async (owner) => {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: owner });
    },
    remove: async () => {
      await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    },
  };
}
