import { after, before, describe, it } from 'node:test';
import { changeEmail } from '../../console/wire/profile.ts';
import { newPerson, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { eventually } from '../fixtures/eventually.ts';
import { MailServer } from '../fixtures/smtp.ts';
import type { TestService } from '../fixtures/test-service.ts';
import type { Visitor } from './browser.ts';
import { visitAs } from './member.ts';
import { shareService, startEmptyService } from './shared-service.ts';
import { button } from './sign-in-steps.ts';

describe('a new email address, in the browser', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let mails: MailServer;
  let service: TestService;
  let visitor: Visitor;
  let ana: UserClient;
  const address = 'ana.new@example.com';

  before(async () => {
    const { service: seeded, browser } = await shared.open();
    mails = await MailServer.start();
    const variables = { CARDVAULT_SMTP_URL: mails.url, CARDVAULT_SMTP_FROM: 'vault@example.com' };
    service = await startEmptyService(seeded, variables);
    ana = await newPerson(service, await service.newAccount(), 'owner', 'Ana');
    await ana.stepUp();
    await ana.call(changeEmail, { body: { email: address } });
    visitor = await visitAs(ana, browser, { origin: `https://localhost:${service.ports.console}` });
  });
  after(async () => {
    await shared.close();
    await service?.stop();
    await mails?.stop();
  });

  it('gets alerts after the code that was sent there is entered', async () => {
    const { page } = visitor;
    await page.goto('/alerts');
    const notice = page.getByRole('alert').filter({ hasText: 'Confirm your email address' });
    await notice.getByText(`No alerts come to ${address}`).waitFor();
    await visitor.checkAccessibility();
    await button(notice, 'Send code').click();
    await page.getByText('Code sent.').waitFor();
    let code = '';
    await eventually(async () => {
      service.advance(5000);
      const mail = mails.mails.find(({ to }) => to.includes(address));
      code = /^[a-z1-9]{4}-[a-z1-9]{4}-[a-z1-9]{4}$/m.exec(mail?.text ?? '')?.[0] ?? '';
      return code !== '';
    });
    await notice.getByLabel('Code').fill('wrong');
    await button(notice, 'Confirm address').click();
    await notice.getByText('Enter the code of the last mail').waitFor();
    await notice.getByLabel('Code').fill(code);
    await button(notice, 'Confirm address').click();
    await page.getByText('Email address confirmed').waitFor();
    await notice.waitFor({ state: 'detached' });
    visitor.errors.checkRefusals(/^400: POST .*\/api\/profile\/email\/confirm$/);
  });
});
