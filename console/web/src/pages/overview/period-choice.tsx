import { Button, Group, SegmentedControl, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { useTimeZone } from '../../parts/time-zone.tsx';

const PRESETS = ['1', '7', '30', '90'] as const;
const RANGE = 'range';
const DAY_FORMAT = /^\d{4}-\d{2}-\d{2}$/;

interface Period {
  /** A number of days, or two days. */
  readonly days: string | undefined;
  readonly from: string;
  readonly to: string;
  readonly choose: (period: Readonly<Record<string, string>>) => void;
}

/** The address holds the period, so that it can be shared. */
export function usePeriod(): Period {
  const [search, setSearch] = useSearchParams();
  const [from, to] = [search.get('from') ?? '', search.get('to') ?? ''];
  const isRange = DAY_FORMAT.test(from) && DAY_FORMAT.test(to);
  const days = isRange ? undefined : (PRESETS.find((each) => each === search.get('days')) ?? '7');
  return {
    days,
    from: isRange ? from : '',
    to: isRange ? to : '',
    choose: (period) => setSearch(period, { replace: true }),
  };
}

/** Returns the query of a period in the user's time zone. */
export function usePeriodQuery({ days, from, to }: Period) {
  const zone = useTimeZone();
  return days === undefined ? { from, to, zone } : { days: Number(days), zone };
}

export function PeriodChoice(period: Period) {
  const { t } = useTranslation('overview');
  const [isOpen, setOpen] = useState(period.days === undefined);
  const onChange = (value: string): void => {
    setOpen(value === RANGE);
    if (value !== RANGE) period.choose({ days: value });
  };
  return (
    <Group gap="sm" align="flex-end" justify="flex-end">
      {isOpen && <Range {...period} />}
      <SegmentedControl
        // Five choices fit on a telephone.
        size="xs"
        aria-label={t('period.label')}
        data={[
          ...PRESETS.map((value) => ({ value, label: t(`period.d${value}`) })),
          { value: RANGE, label: t('period.range') },
        ]}
        value={isOpen ? RANGE : (period.days ?? RANGE)}
        onChange={onChange}
      />
    </Group>
  );
}

function Range({ from, to, choose }: Period) {
  const { t } = useTranslation('overview');
  const [draft, setDraft] = useState({ from, to });
  const isInOrder = draft.from === '' || draft.to === '' || draft.from <= draft.to;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (draft.from !== '' && draft.to !== '' && isInOrder) choose(draft);
  };
  const dayInput = (name: 'from' | 'to') => (
    <TextInput
      type="date"
      size="xs"
      label={t(`period.${name}`)}
      value={draft[name]}
      required
      withAsterisk={false}
      error={name === 'to' && !isInOrder && t('period.order')}
      onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
    />
  );
  return (
    <Group component="form" gap="xs" align="flex-end" onSubmit={submit}>
      {dayInput('from')}
      {dayInput('to')}
      <Button type="submit" size="xs" variant="default">
        {t('period.apply')}
      </Button>
    </Group>
  );
}
