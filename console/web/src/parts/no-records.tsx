import { Button } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import { Link } from 'react-router';
import { useTenant } from '../session/tenant.ts';
import { EmptyState } from './empty-state.tsx';

interface NoRecordsProps {
  readonly icon: LucideIcon;
  readonly words: Readonly<Record<'title' | 'text' | 'action', string>>;
}

/** In place of a list that nothing was put into yet; leads to the command that does. */
export function NoRecords({ icon, words }: NoRecordsProps) {
  const { account } = useTenant();
  return (
    <EmptyState
      icon={icon}
      title={words.title}
      action={
        <Button component={Link} to={`/a/${account}/onboarding#commands`}>
          {words.action}
        </Button>
      }
    >
      {words.text}
    </EmptyState>
  );
}
