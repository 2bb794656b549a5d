import { parentPort, workerData } from 'node:worker_threads';
import { type CertificateOrder, createCa, createServerCertificate } from './certificate.ts';

/** Creates one certificate and ends. */
const { issuer, now } = workerData as CertificateOrder;
parentPort?.postMessage(
  issuer === undefined ? await createCa(now) : await createServerCertificate(issuer.ca, issuer.names, now),
);
