import { Building2, CreditCard, Layers, type LucideIcon, ReceiptText } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { containsIssuedPan } from '../../../../src/kernel/pan.ts';
import { listPayments } from '../../../wire/payments.ts';
import { listTokens } from '../../../wire/records.ts';
import { CallError, call } from '../api/call.ts';
import { useErrorText } from '../parts/error-alert.tsx';
import { useSetTextFilters } from '../parts/url-filters.ts';
import { useSession } from '../session/session.tsx';
import { ACCOUNT_ITEMS, ENVIRONMENT_ITEMS, type NavItem, OPERATOR_ITEMS, PERSON_ITEMS } from './nav-items.ts';
import { listVisibleItems, useNavigation } from './navigation-context.ts';
import { getHomePath } from './start.tsx';

export interface Option {
  readonly key: string;
  readonly text: string;
  readonly beside?: string;
  readonly icon: LucideIcon;
  /** Returns the address to open; undefined when a note explains why there is none. */
  readonly choose: () => Promise<string | undefined>;
}

const normalizeText = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** Returns pages and accounts whose name contains all words. */
export function usePageOptions(text: string): readonly Option[] {
  const { t } = useTranslation();
  const { memberships, is_operator } = useSession();
  const { membership, lastEnvironment } = useNavigation();
  const page = (base: string, beside: string) => {
    const toOption = ({ name, path, icon }: NavItem): Option => {
      const to = `${base}/${path}`;
      return { key: to, text: t(name), beside, icon, choose: () => Promise.resolve(to) };
    };
    return toOption;
  };
  const all: readonly Option[] = [
    ...(membership === undefined
      ? []
      : [
          ...listVisibleItems(ENVIRONMENT_ITEMS, membership, lastEnvironment).map(
            page(`/a/${membership.account}/${lastEnvironment}`, t(lastEnvironment)),
          ),
          ...listVisibleItems(ACCOUNT_ITEMS, membership).map(page(`/a/${membership.account}`, membership.name)),
        ]),
    ...memberships
      .filter((each) => each !== membership)
      .map((each) => ({
        key: each.account,
        text: each.name,
        beside: t('account'),
        icon: Building2,
        choose: () => Promise.resolve(getHomePath(each)),
      })),
    ...(is_operator ? OPERATOR_ITEMS.map(page('/operator', t('operator'))) : []),
    ...PERSON_ITEMS.map(page('', '')),
  ];
  const words = normalizeText(text).split(/\s+/);
  // Words match at their beginning, so that "to" finds tokens and not every operator page.
  return all.filter(({ text: name, beside = '' }) =>
    words.every((word) => ` ${normalizeText(`${name} ${beside}`)}`.includes(` ${word}`)),
  );
}

/** Runs a lookup; `note` reports its progress, or why it has no result. */
function useFind(text: string) {
  const { t } = useTranslation();
  const textOf = useErrorText();
  const [note, setNote] = useState<string>();
  const find = async (lookUp: () => Promise<string | undefined>): Promise<string | undefined> => {
    setNote(t('searching'));
    try {
      const to = await lookUp();
      setNote(to === undefined ? t('nothingFound', { text }) : undefined);
      return to;
    } catch (error) {
      setNote(error instanceof CallError ? textOf(error) : t('failedFind'));
      return undefined;
    }
  };
  return { note, find, clear: () => setNote(undefined) };
}

/**
 * Finds a token or payment. The input goes into the body, because it may be a card number by mistake and must not be in
 * an address.
 */
export function useLookupOptions(text: string) {
  const { t } = useTranslation();
  const { membership, lastEnvironment } = useNavigation();
  const { note, find, clear } = useFind(text);
  const base = `/a/${membership?.account ?? ''}/${lastEnvironment}`;
  const filterPayments = useSetTextFilters(`${base}/payments`);
  if (membership === undefined || text === '') return { options: [], note, clear };
  if (containsIssuedPan(text)) return { options: [], note: t('looksLikeCard'), clear };
  const params = { account: membership.account, environment: lastEnvironment };
  const findToken = async (): Promise<string | undefined> => {
    const { tokens } = await call(listTokens, { params, body: { by: 'token', value: text } });
    return tokens[0] && `${base}/tokens/${encodeURIComponent(tokens[0].token)}`;
  };
  const findPayment = async (): Promise<string | undefined> => {
    const { payments } = await call(listPayments, { params, body: { id: text } });
    return payments[0] && `${base}/payments/${encodeURIComponent(payments[0].id)}`;
  };
  const findReference = (): Promise<string> => {
    filterPayments({ reference_code: text });
    return Promise.resolve(`${base}/payments`);
  };
  const lookups = [
    { key: 'payment', text: t('findPayment', { text }), icon: CreditCard, choose: () => find(findPayment) },
    { key: 'reference', text: t('findReference', { text }), icon: ReceiptText, choose: findReference },
    { key: 'token', text: t('findToken', { text }), icon: Layers, choose: () => find(findToken) },
  ];
  const may = (capability: 'tokens:read' | 'payments:read') => membership.capabilities.includes(capability);
  const options = lookups
    .filter(({ key }) => may(key === 'token' ? 'tokens:read' : 'payments:read'))
    .map((lookup) => ({ ...lookup, beside: t(lastEnvironment) }));
  return { options, note, clear };
}
