/** Events between the tabs of a browser, which share the session. */
type TabEvent = 'signed-out' | 'signed-in' | 'active';

const CHANNEL = 'cardvault-session';
const TAB_EVENTS: readonly unknown[] = ['signed-out', 'signed-in', 'active'] satisfies TabEvent[];

// A channel does not receive its own messages, so each tab uses one channel.
const channel = new BroadcastChannel(CHANNEL);

export const postToTabs = (event: TabEvent): void => channel.postMessage(event);

export function listenToTabs(listener: (event: TabEvent) => void): () => void {
  const onMessage = ({ data }: MessageEvent<unknown>): void => {
    if (TAB_EVENTS.includes(data)) listener(data as TabEvent);
  };
  channel.addEventListener('message', onMessage);
  return () => channel.removeEventListener('message', onMessage);
}
