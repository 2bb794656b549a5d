import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core';
import { Download } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../src/kernel/limits.ts';
import type { Definition } from '../../../wire/definition.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../../wire/exports.ts';
import type { CallArgs, CallError } from '../api/call.ts';
import { readExport } from '../api/exports.ts';
import { useOnce, useSteppedUp } from '../api/hooks.ts';
import { ErrorAlert } from './error-alert.tsx';
import { FormButtons, FormDialog } from './form-dialog.tsx';
import { formatNumber } from './number.ts';
import { saveFile } from './save-file.ts';

export interface ExportButtonProps<Filter> {
  readonly definition: Definition<{ readonly format: ExportFormat; readonly filter: Filter }, undefined, string>;
  readonly params: Readonly<Record<string, string>>;
  /** The filter of the list. */
  readonly filter: Filter;
  /** Begin of the file name. */
  readonly name: string;
  readonly isFiltered: boolean;
}

/** Exports what the filters of a list show. */
export function ExportButton<Filter>(props: ExportButtonProps<Filter>) {
  const { t } = useTranslation('lists');
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<Download size={16} aria-hidden />} onClick={() => setOpen(true)}>
        {t('export.action')}
      </Button>
      <FormDialog opened={isOpen} onClose={() => setOpen(false)} title={t('export.title')}>
        <ExportForm {...props} onClose={() => setOpen(false)} />
      </FormDialog>
    </>
  );
}

const TYPES: Readonly<Record<ExportFormat, string>> = { csv: 'text/csv', json: 'application/json' };

function useExport<Filter>({ definition, params, filter, name }: ExportButtonProps<Filter>) {
  const steppedUp = useSteppedUp();
  const [rows, setRows] = useState(0);
  const controller = useRef<AbortController>(undefined);
  // A closed dialog, or another page, ends the export.
  useEffect(() => () => controller.current?.abort(), []);
  const change = useOnce<{ rows: number; limit: 'rows' | 'time' | null }, ExportFormat>({
    mutationFn: async (format) => {
      setRows(0);
      controller.current = new AbortController();
      const { signal } = controller.current;
      const args: CallArgs<{ format: ExportFormat; filter: Filter }, undefined> = { params, body: { format, filter } };
      const file = await steppedUp(() => readExport(definition, args, { signal, onRows: setRows }));
      saveFile(new Blob([file.content], { type: TYPES[format] }), `${name}-${toFileTime(new Date())}.${format}`);
      return { rows: file.rows, limit: file.limit };
    },
  });
  return { change, rows };
}

/** `2026-07-01-093000`, in UTC as the times in the file. */
const toFileTime = (now: Date): string => now.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');

function ExportForm<Filter>(props: ExportButtonProps<Filter> & { readonly onClose: () => void }) {
  const { t, i18n } = useTranslation('lists');
  const { onClose, isFiltered } = props;
  const [format, setFormat] = useState<ExportFormat>('csv');
  const { change, rows } = useExport(props);
  const { data, error, isPending } = change;
  const max = formatNumber(LIMITS.exportedRows, i18n.language);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(format);
      }}
    >
      <Stack gap="md">
        <Text size="sm">{t(isFiltered ? 'export.textFiltered' : 'export.text', { max })}</Text>
        <Radio.Group label={t('export.format')} value={format} onChange={(value) => setFormat(value as ExportFormat)}>
          <Group mt={6}>
            {EXPORT_FORMATS.map((each) => (
              <Radio key={each} value={each} label={t(`export.formats.${each}`)} disabled={isPending} />
            ))}
          </Group>
        </Radio.Group>
        <ExportStatus isPending={isPending} rows={rows} data={data} error={error} />
        <FormButtons
          onCancel={onClose}
          cancelLabel={isPending || data === undefined ? t('export.cancel') : t('export.close')}
          canCancelBusy
          label={t('export.submit')}
          isBusy={isPending}
        />
      </Stack>
    </form>
  );
}

interface ExportStatusProps {
  readonly isPending: boolean;
  readonly rows: number;
  readonly data: { readonly rows: number; readonly limit: 'rows' | 'time' | null } | undefined;
  readonly error: CallError | null;
}

function ExportStatus({ isPending, rows, data, error }: ExportStatusProps) {
  const { t, i18n } = useTranslation('lists');
  const number = (value: number): string => formatNumber(value, i18n.language);
  if (isPending)
    return (
      <Text size="sm" c="dimmed" role="status">
        {t('export.progress', { count: rows, number: number(rows) })}
      </Text>
    );
  if (error !== null) return <ErrorAlert error={error} isFocused />;
  if (data === undefined) return null;
  const done = t('export.done', { count: data.rows, number: number(data.rows) });
  return (
    <Alert color={data.limit === null ? 'teal' : 'yellow'} role={data.limit === null ? 'status' : 'alert'} title={done}>
      {data.limit !== null && t(`export.limit.${data.limit}`)}
    </Alert>
  );
}
