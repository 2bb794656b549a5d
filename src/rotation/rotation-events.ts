import type { AuditEvent } from '../audit/audit.ts';
import type { KeyEnvironment, WrappedKey } from '../crypto/wrapped-key.ts';
import type { Environment } from '../kernel/environment.ts';
import type { RotationOwner } from '../storage/key-rotation-store.ts';

/** The audit events of the life of a key. */

const environmentOf = (environment: KeyEnvironment): Environment | '' => (environment === 'service' ? '' : environment);

const eventOf = (
  action: 'keyring.rotated' | 'keyring.rotation-finished' | 'keyring.destroyed',
  { account, environment, purpose }: RotationOwner,
  rest: Pick<AuditEvent, 'targets' | 'detail'>,
): AuditEvent => ({
  action,
  outcome: 'success',
  account,
  environment: environmentOf(environment),
  ...rest,
  detail: { purpose, ...rest.detail },
});

const targetOf = ({ id }: Pick<WrappedKey, 'id'>): string[] => [`data-key:${id}`];

/** A new version of a key; `replaced` is the newest one until then. */
export const keyRotated = (key: WrappedKey, replaced: WrappedKey): AuditEvent =>
  eventOf('keyring.rotated', key, {
    targets: targetOf(key),
    detail: {
      version: key.version,
      check_value: key.checkValue,
      replaces: replaced.id,
      replaces_check_value: replaced.checkValue,
    },
  });

export const ROOT_OWNER: RotationOwner = { account: '', environment: 'service', purpose: 'root' };

export const rootRotated = (version: number, checkValue: string, replaced: string): AuditEvent =>
  eventOf('keyring.rotated', ROOT_OWNER, {
    detail: { version, check_value: checkValue, replaces_check_value: replaced },
  });

/** Nothing is sealed or wrapped under older versions any more. */
export const rotationFinished = (
  owner: RotationOwner,
  counts: { readonly version: number; readonly resealed: number; readonly leftOver: number },
): AuditEvent =>
  eventOf('keyring.rotation-finished', owner, {
    detail: { version: counts.version, resealed: counts.resealed, left_over: counts.leftOver },
  });

/** The evidence of a destruction. `backups` names those that become unreadable, the newest first. */
export interface DestructionEvidence {
  readonly checkValue: string;
  readonly leftOver: number;
  readonly isImmediate: boolean;
  readonly backups: readonly string[];
}

const evidenceOf = ({ checkValue, leftOver, isImmediate, backups }: DestructionEvidence) => ({
  check_value: checkValue,
  left_over: leftOver,
  waited_for_backup: isImmediate ? 'no' : 'yes',
  backups,
});

export const keyDestroyed = (key: WrappedKey, evidence: DestructionEvidence): AuditEvent =>
  eventOf('keyring.destroyed', key, {
    targets: targetOf(key),
    detail: { version: key.version, ...evidenceOf(evidence) },
  });

export const rootDestroyed = (evidence: DestructionEvidence): AuditEvent =>
  eventOf('keyring.destroyed', ROOT_OWNER, { detail: evidenceOf(evidence) });
