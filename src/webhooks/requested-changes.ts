import { type RestrictedChange, type SummaryLine, toSummaryLines } from '../accounts/change-control.ts';
import type { EndpointAttributes, EndpointStatus } from './webhook.ts';

/** Changes of endpoints as a second person sees them before approval, and as they are stored until then. Pure. */

/** The id and the secret of a new endpoint, or the new secret of an endpoint. */
export interface IssuedSecret {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** Members that are undefined stay; an empty description is removed. */
export interface EndpointChanges {
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly status?: EndpointStatus | undefined;
}

/** A change of the revision that its approver sees: a concurrent change makes it conflict. */
export interface RequestedUpdate {
  readonly id: string;
  readonly revision: number;
  readonly changes: EndpointChanges;
}

export interface RequestedRotation extends IssuedSecret {
  readonly overlapMinutes: number;
}

/** Returns the lines that describe an endpoint as it will be; absent members are left out. */
export const summarizeEndpoint = ({ url, events, description, status }: EndpointChanges): SummaryLine[] =>
  toSummaryLines([
    ['url', url],
    ['events', events?.join(', ')],
    ['description', description === '' ? undefined : description],
    ['state', status],
  ]);

export const summarizeRotation = (url: string, overlapMinutes: number): SummaryLine[] =>
  toSummaryLines([
    ['url', url],
    ['overlap_minutes', String(overlapMinutes)],
  ]);

export const toCreation = (attributes: EndpointAttributes, { id, secret }: IssuedSecret): RestrictedChange => ({
  action: 'webhook.create',
  summary: summarizeEndpoint(attributes),
  body: JSON.stringify({ attributes, id, secret: toBase64(secret) }),
});

export function parseCreation(body: string): { attributes: EndpointAttributes; issued: IssuedSecret } {
  const { attributes, id, secret } = JSON.parse(body);
  return { attributes, issued: { id, secret: Buffer.from(secret, 'base64') } };
}

/** `after`: the endpoint as it will be. */
export const toUpdate = (
  update: RequestedUpdate,
  after: EndpointAttributes & { readonly status: EndpointStatus },
): RestrictedChange => ({
  action: 'webhook.edit',
  summary: summarizeEndpoint(after),
  body: JSON.stringify(update),
});

export const parseUpdate = (body: string): RequestedUpdate => JSON.parse(body) as RequestedUpdate;

export const toRotation = (url: string, { id, secret, overlapMinutes }: RequestedRotation): RestrictedChange => ({
  action: 'webhook.rotate',
  summary: summarizeRotation(url, overlapMinutes),
  body: JSON.stringify({ id, secret: toBase64(secret), overlapMinutes }),
});

export function parseRotation(body: string): RequestedRotation {
  const { id, secret, overlapMinutes } = JSON.parse(body);
  return { id, secret: Buffer.from(secret, 'base64'), overlapMinutes };
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
