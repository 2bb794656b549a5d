// NODE_EXTRA_CA_CERTS=CA KEY=... node send-jose.mjs URL PAYLOAD
// Sends a payload to POST /proxy/jose and prints the response. Needs nothing but Node.
import { readFileSync } from 'node:fs';

const [url, payload] = process.argv.slice(2);
const response = await fetch(url, {
  method: 'POST',
  headers: { 'ft-access-key': process.env.KEY, 'content-type': 'application/json' },
  body: readFileSync(payload),
  signal: AbortSignal.timeout(30_000),
});
const text = await response.text();
// The text of an error names the field or the placeholder, and never a value.
if (!response.ok) throw new Error(`${response.status} ${text}`);
process.stdout.write(text);
