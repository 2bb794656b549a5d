import { Anchor, List, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Panel } from '../../parts/panel.tsx';

/** Where `npm run example` starts the shop. */
const SHOP = 'http://127.0.0.1:3000';

/** The example shop: its command, its address, and what explains it. */
export function ShopPanel() {
  const { t } = useTranslation('onboarding');
  return (
    <Panel title={t('shop.title')} description={t('shop.text')}>
      <CodeBlock label={t('shop.command')} code="npm run example" />
      <List size="sm" spacing={4}>
        <List.Item>
          <Anchor href={SHOP} target="_blank" rel="noreferrer" inherit underline="always">
            {t('shop.open')}
          </Anchor>{' '}
          <Text span inherit>
            ({SHOP}, {t('shop.where')})
          </Text>
        </List.Item>
        <List.Item>
          <Anchor component={Link} to="/guides/examples/shop/README" inherit underline="always">
            {t('shop.about')}
          </Anchor>
        </List.Item>
        <List.Item>
          <Anchor component={Link} to="/guides/guides/browser" inherit underline="always">
            {t('shop.guide')}
          </Anchor>
        </List.Item>
      </List>
    </Panel>
  );
}
