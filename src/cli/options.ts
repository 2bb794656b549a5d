import { InvalidArgumentError } from 'commander';
import { ENVIRONMENTS, type Environment } from '../kernel/environment.ts';

/** Readers of options that several commands have. */

export const wrong = (what: string): never => {
  throw new InvalidArgumentError(what);
};

export const readEnvironment = (text: string): Environment =>
  ENVIRONMENTS.find((name) => name === text) ?? wrong('expected sandbox or production');

const MAX_OVERLAP_MINUTES = 43_200;

export function readOverlap(text: string): number {
  const minutes = /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return minutes <= MAX_OVERLAP_MINUTES ? minutes : wrong(`expected minutes, 0 to ${MAX_OVERLAP_MINUTES}`);
}
