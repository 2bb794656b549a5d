import { Alert, Button, Checkbox, Select, SimpleGrid, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { type enablePayments, listProcessors, type showAccount } from '../../../../wire/operator.ts';
import type { CallError } from '../../api/call.ts';
import { useRead } from '../../api/hooks.ts';
import { ErrorAlert, useErrorText } from '../../parts/error-alert.tsx';
import { DialogForm } from '../../parts/form-dialog.tsx';
import { type Changes, findFaultySetting, toSettings } from '../../parts/setting-changes.ts';
import { SettingField } from '../../parts/setting-field.tsx';
import { choicesIn, useSettingText } from './setting-text.ts';

type Processor = ValueOf<typeof listProcessors.data>['processors'][number];
export type Setting = Processor['settings'][number];
export type PaymentsView = ValueOf<typeof showAccount.data>['payments'][number];

/** Body of the call. */
type EnableBody = ValueOf<NonNullable<typeof enablePayments.body>>;

interface EnableFormProps {
  readonly environment: Environment;
  /** Current state of payments. */
  readonly current: PaymentsView | undefined;
  /** Initial processor. */
  readonly processor: string | null;
  readonly onSubmit: (given: EnableBody) => void;
  readonly onCancel: () => void;
  readonly label: string;
  readonly isBusy: boolean;
  readonly error: CallError | null;
  /** Additional fields. */
  readonly children?: ReactNode;
}

/** Returns the settings of a processor, with their values if it is the current one. */
function listSettings(processor: Processor | undefined, present: PaymentsView | undefined): readonly Setting[] {
  if (processor === undefined) return [];
  return present?.processor === processor.name ? present.settings : processor.settings;
}

/** Form for the processor and its settings. */
export function EnableForm(props: EnableFormProps) {
  const { environment, current, onSubmit, onCancel, label, isBusy, error, children } = props;
  const { t } = useTranslation('operator');
  const processors = useRead(listProcessors);
  const [name, setName] = useState(props.processor ?? current?.processor ?? null);
  const [changes, setChanges] = useState<Changes>({});
  const [isForced, setForced] = useState(false);
  const chosen = processors.data?.processors.find((each) => each.name === name);
  const settings = listSettings(chosen, current);
  const needsForce = environment === 'production' && chosen?.is_simulator === true;
  const sent = toSettings(changes);
  const atFault = findFaultySetting(error?.field, sent);
  const isAtField = settings.some((setting) => setting.name === atFault);
  const submit = (): void => {
    if (name === null) return;
    onSubmit({
      processor: name,
      ...(sent.length > 0 && { settings: sent }),
      ...(needsForce && isForced && { force: true }),
    });
  };
  if (processors.error !== null) return <ErrorAlert error={processors.error} onRetry={processors.refetch} />;
  return (
    <DialogForm onSubmit={submit} onCancel={onCancel} label={label} isBusy={isBusy} error={isAtField ? null : error}>
      <ProcessorChoice
        names={(processors.data?.processors ?? []).map((each) => each.name)}
        value={name}
        onChange={(next) => {
          setName(next);
          setChanges({});
        }}
      />
      {chosen?.is_simulator && <Alert color="yellow">{t('enable.simulator')}</Alert>}
      {needsForce && <ForceChoice value={isForced} onChange={setForced} />}
      <SettingFields
        settings={settings}
        changes={changes}
        onChange={setChanges}
        error={isAtField ? error : null}
        atFault={atFault}
      />
      {children}
    </DialogForm>
  );
}

interface ProcessorChoiceProps {
  readonly names: readonly string[];
  readonly value: string | null;
  readonly onChange: (name: string | null) => void;
}

function ProcessorChoice({ names, value, onChange }: ProcessorChoiceProps) {
  const { t } = useTranslation('operator');
  return (
    <Select
      label={t('account.processor')}
      placeholder={t('enable.chooseProcessor')}
      data={names}
      value={value}
      onChange={onChange}
      allowDeselect={false}
      required
    />
  );
}

function ForceChoice({ value, onChange }: { readonly value: boolean; readonly onChange: (value: boolean) => void }) {
  const { t } = useTranslation('operator');
  return (
    <Checkbox
      label={t('enable.force')}
      description={t('enable.forceHint')}
      checked={value}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

interface SettingFieldsProps {
  readonly settings: readonly Setting[];
  readonly changes: Changes;
  readonly onChange: (changes: Changes) => void;
  readonly error: CallError | null;
  readonly atFault: string | undefined;
}

/** Shows required and set settings; the others on request. */
function SettingFields({ settings, changes, onChange, error, atFault }: SettingFieldsProps) {
  const { t } = useTranslation('operator');
  const textOf = useErrorText();
  const { helpText } = useSettingText();
  const [showsAll, setShowsAll] = useState(false);
  const isAlwaysShown = ({ name, is_required, is_set, is_secret }: Setting): boolean =>
    is_required || is_set || is_secret || Object.hasOwn(changes, name) || name === atFault;
  const shown = showsAll ? settings : settings.filter(isAlwaysShown);
  const hasMore = settings.some((setting) => !isAlwaysShown(setting));
  return (
    <>
      {shown.length > 0 && (
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
          {shown.map((setting) => (
            <SettingField
              key={setting.name}
              setting={setting}
              description={helpText(setting)}
              choices={choicesIn(setting.expected)}
              maxLength={LIMITS.processorSettingCharacters}
              changes={changes}
              onChange={onChange}
              error={error !== null && setting.name === atFault ? textOf(error) : undefined}
              isRequired={setting.is_required && !setting.is_set}
            />
          ))}
        </SimpleGrid>
      )}
      {hasMore && (
        <Text>
          <Button variant="subtle" size="xs" onClick={() => setShowsAll(!showsAll)} aria-expanded={showsAll}>
            {showsAll ? t('enable.fewer') : t('enable.more')}
          </Button>
        </Text>
      )}
    </>
  );
}
