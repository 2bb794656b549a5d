import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { listSessions } from '../../../../wire/card-form.ts';
import { useReadPages } from '../../api/pages.ts';
import { PageHeader } from '../../parts/page-header.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { AppearanceEditor } from './appearance-editor.tsx';
import { SESSION_ROWS, SessionsPanel } from './sessions-panel.tsx';

/** The card form: its appearance with the code for it, and the sessions of the last day. */
export function CardFormPage() {
  const { t } = useTranslation('cardForm');
  const { account, environment } = useTenant();
  const isTried = useCan()('workbench:use') && environment === 'sandbox';
  const list = useReadPages(listSessions, { params: { account, environment } }, SESSION_ROWS);
  const origin = list.pages?.[0]?.origin;
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} hasTimes />
      <Stack gap="md">
        {isTried && origin !== undefined && <AppearanceEditor origin={origin} />}
        <SessionsPanel list={list} />
      </Stack>
    </>
  );
}
