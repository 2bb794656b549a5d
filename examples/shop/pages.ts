import type { Order } from './shop.ts';

/** The pages of the shop. */

/** Of one item in a cart. */
export const MAX_QUANTITY = 9;

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);

const price = (cents: number): string => `$${(cents / 100).toFixed(2)}`;

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 2rem auto; padding: 0 1rem; color: #1a1c20; background: #fff }
button { font: inherit; padding: .5rem 1rem; color: #fff; background: #1d5fd1; border: 0; border-radius: 6px; cursor: pointer }
li { display: flex; justify-content: space-between; align-items: center; padding: .5rem 0; border-bottom: 1px solid #d7dae0 }
ul { padding: 0; list-style: none }
#card { margin: 1rem 0 }
#message { color: #b3261e; min-height: 1.5em }
</style>
</head>
<body>${body}</body>
</html>
`;

export const shopPage = (items: Readonly<Record<string, number>>, orders: ReadonlyMap<string, Order>): string =>
  page(
    'Shop',
    `<h1>Shop</h1><form method="post" action="/orders"><ul>${Object.entries(items)
      .map(
        ([item, cents]) =>
          `<li><label for="${escapeHtml(item)}">${escapeHtml(item)}, ${price(cents)}</label> <input type="number" id="${escapeHtml(item)}" name="${escapeHtml(item)}" value="0" min="0" max="${MAX_QUANTITY}"></li>`,
      )
      .join('')}</ul><button>Check out</button></form>
<h2>Orders</h2><ul>${[...orders.values()]
      .map(({ id, description, status }) => `<li><a href="/orders/${id}">${escapeHtml(description)}</a> ${status}</li>`)
      .join('')}</ul>`,
  );

/** The order with the card form, or with what became of it. `nonce`: names the scripts that the policy of the page lets run. */
export function orderPage(order: Order, formOrigin: string, nonce: string): string {
  const head = `<p><a href="/">Shop</a></p><h1>${escapeHtml(order.description)}, ${price(order.amount)}</h1>`;
  if (order.status !== 'open') {
    const refund =
      order.status === 'paid'
        ? `<form method="post" action="/orders/${order.id}/refund"><button>Refund</button></form>`
        : '';
    const card = order.card === undefined ? '' : `<p>${escapeHtml(order.card)}</p>`;
    return page(
      order.description,
      `${head}<p id="status">${order.status}</p>${card}<p>${order.events.join(', ')}</p>${refund}`,
    );
  }
  const options = JSON.stringify({ session: order.sessionId, clientSecret: order.clientSecret });
  return page(
    order.description,
    `${head}<div id="card"></div><button id="pay">Pay</button><p id="message" role="status"></p>
<script nonce="${nonce}" src="${formOrigin}/v1/cardvault.js"></script>
<script nonce="${nonce}">
const form = CardVault.mount('#card', ${options});
const [button, message] = [document.querySelector('#pay'), document.querySelector('#message')];
form.on('enter', () => button.click());
button.addEventListener('click', async () => {
  button.disabled = true;
  message.textContent = '';
  try {
    await form.submit().catch((error) => {
      // The session has its card from a visit before: the shop pays with it once, however often it is asked.
      if (error.code !== 'session_completed') throw error;
    });
    const { ok } = await fetch('/orders/${order.id}/pay', { method: 'POST' });
    if (!ok) throw new Error();
    location.reload();
  } catch (error) {
    message.textContent = error.code === 'invalid_fields' ? '' : 'That did not work: ' + (error.code ?? 'try again');
    button.disabled = false;
  }
});
</script>`,
  );
}
