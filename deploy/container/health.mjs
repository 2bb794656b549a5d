// The health check of the container image: exits with 0 when the service responds. It connects to this machine alone and
// sends nothing, so that the name in the certificate does not matter.
import { get } from 'node:https';

const port = Number(process.env.CARDVAULT_PRODUCTION_PORT || '8443');
const options = { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, timeout: 4000, agent: false };

const request = get(options, ({ statusCode }) => {
  process.exitCode = statusCode === 200 ? 0 : 1;
  request.destroy();
});
request.on('timeout', () => request.destroy(new Error('timeout')));
request.on('error', () => {
  process.exitCode ??= 1;
});
