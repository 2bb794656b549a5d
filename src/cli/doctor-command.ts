import type { Command } from 'commander';
import type { Check } from '../doctor/check.ts';
import type { CliContext } from './context.ts';
import { EXIT, printResult } from './output.ts';

/** `exit`: called with the exit code when a problem was found. */
export function doctorCommand(program: Command, tools: CliContext, exit: (code: number) => void): void {
  program
    .command('doctor')
    .description('examine this installation, with the settings of the service, and print what to mend')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const [{ examine }, { listRotatedColumns }] = await Promise.all([
        import('../doctor/examine.ts'),
        import('../tables.ts'),
      ]);
      const checks = await examine({
        ...tools.surroundings,
        clock: tools.clock,
        ...(await listRotatedColumns(tools.listRotatedConsoleColumns)),
      });
      const counts = {
        ok: countOf(checks, 'ok'),
        warning: countOf(checks, 'warning'),
        problem: countOf(checks, 'problem'),
      };
      const document = { checks: checks.map((check) => ({ ...check, advice: check.advice ?? null })), counts };
      const total = `ok: ${counts.ok}, warnings: ${counts.warning}, problems: ${counts.problem}`;
      printResult(tools, json, document, [...checks.map(toLine), total].join('\n'));
      if (counts.problem > 0) exit(EXIT.failed);
    });
}

const countOf = (checks: readonly Check[], wanted: Check['state']): number =>
  checks.filter(({ state }) => state === wanted).length;

const WIDTH = 'problem'.length;

const toLine = ({ state, name, message, advice }: Check): string =>
  `${state.padEnd(WIDTH)}  ${name}: ${message}${advice === undefined ? '' : ` -> ${advice}`}`;
