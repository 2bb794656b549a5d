/** What tabs of one browser tell each other: they share the session. */
type News = 'signed-out' | 'signed-in' | 'active';

const CHANNEL = 'cardvault-session';
const NEWS: readonly unknown[] = ['signed-out', 'signed-in', 'active'] satisfies News[];

// A channel does not hear itself, so all of a tab speak through one.
const channel = new BroadcastChannel(CHANNEL);

export const tellOtherTabs = (news: News): void => channel.postMessage(news);

export function hearOtherTabs(listener: (news: News) => void): () => void {
  const hear = ({ data }: MessageEvent<unknown>): void => {
    if (NEWS.includes(data)) listener(data as News);
  };
  channel.addEventListener('message', hear);
  return () => channel.removeEventListener('message', hear);
}
