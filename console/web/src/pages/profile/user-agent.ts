import { useTranslation } from 'react-i18next';

/** Most browsers name others too, so the order decides. */
const BROWSERS = [
  [/Edg/, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrome|CriOS/, 'Chrome'],
  [/Safari/, 'Safari'],
] as const;
const SYSTEMS = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
] as const;

const findName = (names: readonly (readonly [RegExp, string])[], agent: string): string | undefined =>
  names.find(([pattern]) => pattern.test(agent))?.[1];

/** Returns browser and system of a user agent. */
export function useUserAgentText(): (agent: string) => string {
  const { t } = useTranslation('profile');
  return (agent) =>
    t('browserOn', {
      browser: findName(BROWSERS, agent) ?? t('otherBrowser'),
      system: findName(SYSTEMS, agent) ?? t('otherSystem'),
    });
}
