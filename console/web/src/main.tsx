import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './global.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { startTexts } from './text/index.ts';
import { cssVariables, theme } from './theme.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');

// The content security policy allows style elements with this nonce. Both libraries that create style elements need it.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
setNonce(nonce);

await startTexts();
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={localStorageColorSchemeManager({ key: 'colour-scheme' })}
      getStyleNonce={() => nonce}
    >
      <App />
    </MantineProvider>
  </StrictMode>,
);
