import { type AsyncHook, createHook } from 'node:async_hooks';

/**
 * Node's test runner follows every asynchronous resource of a process, each promise too, to know in which suite a test
 * is declared. That takes a tenth of the CPU time of our tests, and nothing asks for it once the files of a process have
 * declared their tests. An exception that no test catches is then reported for the process instead of the running test.
 * This module is imported before the first call of `node:test`.
 */
const enabled: AsyncHook[] = [];
const hooks = Object.getPrototypeOf(createHook({})) as AsyncHook;
const { enable } = hooks;

hooks.enable = function (this: AsyncHook): AsyncHook {
  enabled.push(this);
  return enable.call(this);
};

/** Ends the tracking. To be called when all tests are declared. */
export function stopTracking(): void {
  hooks.enable = enable;
  for (const hook of enabled.splice(0)) hook.disable();
}
