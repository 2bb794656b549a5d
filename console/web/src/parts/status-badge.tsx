import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { status as texts } from '../text/en/status.ts';
import classes from './status-badge.module.css';

type Tone = 'good' | 'info' | 'attention' | 'bad' | 'quiet';
export type Status = keyof typeof texts;

/** Color of each status. */
const TONES: Readonly<Record<Status, Tone>> = {
  Opened: 'info',
  Authorized: 'info',
  Collected: 'good',
  Cancelled: 'quiet',
  Voided: 'quiet',
  Declined: 'bad',
  ProcessorError: 'bad',
  in_progress: 'attention',
  accepted: 'good',
  refused: 'bad',
  active: 'good',
  ending: 'attention',
  expired: 'quiet',
  revoked: 'bad',
  waiting: 'attention',
  approved: 'good',
  declined: 'bad',
  done: 'good',
  open: 'quiet',
  requested: 'attention',
  withdrawn: 'quiet',
  onboarding: 'info',
  sandbox: 'info',
  live: 'good',
  suspended: 'bad',
  good: 'good',
  warning: 'attention',
  bad: 'bad',
  locked: 'bad',
  'password-blocked': 'bad',
  disabled: 'quiet',
  altered: 'bad',
  'in-doubt': 'attention',
};

export const isStatus = (value: unknown): value is Status => typeof value === 'string' && Object.hasOwn(TONES, value);

/** Badge with a text of the page. */
export function Badge({
  tone,
  children,
  title,
}: {
  readonly tone: Tone;
  readonly children: ReactNode;
  readonly title?: string;
}) {
  return (
    <span className={classes['badge']} data-tone={tone} {...(title !== undefined && { title })}>
      {children}
    </span>
  );
}

/** Shows a status of the service with text and color. */
export function StatusBadge({ status, title }: { readonly status: Status; readonly title?: string }) {
  const { t } = useTranslation('status');
  return (
    <Badge tone={TONES[status]} {...(title !== undefined && { title })}>
      {t(status)}
    </Badge>
  );
}
