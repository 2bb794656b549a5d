import { useTranslation } from 'react-i18next';

const PROBLEMS = ['timeout', 'not-found', 'contradiction', 'account-changed'] as const;
type Problem = (typeof PROBLEMS)[number];

const isProblem = (word: string): word is Problem => (PROBLEMS as readonly string[]).includes(word);

/** Returns why an inquiry had no result; a code of a network or processor as it is. */
export function useProblemText(): (problem: string) => string {
  const { t } = useTranslation('payments');
  return (problem) => (isProblem(problem) ? t(`problem.${problem}`) : problem);
}
