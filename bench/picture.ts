import type { Figure, Results } from './figures.ts';
import { whole } from './table.ts';

/** A bar chart of requests a second, readable on a light and on a dark page. */
const WIDTH = 760;
const LABELS = 200;
const VALUES = 70;
const BAR = 9;
const ROW = 28;
const TOP = 46;
const CONNECTIONS = 64;

const STYLE = `
text{font:12px system-ui,sans-serif;fill:#1f2328}.s{fill:#0969da}.p{fill:#8250df}.v{font-size:10px;fill:#59636e}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#58a6ff}.p{fill:#bc8cff}.v{fill:#9198a1}}`;

const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

const bar = (figure: Figure, y: number, most: number): string => {
  const width = Math.max(1, Math.round((figure.perSecond / most) * (WIDTH - LABELS - VALUES)));
  const color = figure.database === 'PostgreSQL' ? 'p' : 's';
  return (
    `<rect class="${color}" x="${LABELS}" y="${y}" width="${width}" height="${BAR}" rx="1"/>` +
    `<text class="v" x="${LABELS + width + 5}" y="${y + BAR - 1}">${whole(figure.perSecond)}</text>`
  );
};

/** Returns an SVG; without figures an empty one. */
export function picture({ matrix }: Results): string {
  const figures = (matrix?.figures ?? []).filter(
    ({ connections, database }) => connections === CONNECTIONS && database !== '-',
  );
  const names = [...new Set(figures.map(({ request }) => request))];
  const most = Math.max(...figures.map(({ perSecond }) => perSecond), 1);
  const rows = names.flatMap((name, row) => {
    const top = TOP + row * ROW;
    const own = figures.filter(({ request }) => request === name);
    const label = `<text x="${LABELS - 8}" y="${top + BAR + 4}" text-anchor="end">${escaped(name)}</text>`;
    return [label, ...own.map((figure, index) => bar(figure, top + index * (BAR + 1), most))];
  });
  const { date = '', cores = 0, processor = '', version = '', node = '' } = matrix?.conditions ?? {};
  const { postgres } = matrix ?? {};
  const versions = `cardvault ${version}, Node ${node}${postgres === undefined ? '' : `, PostgreSQL ${postgres}`}`;
  const title = `Requests a second, ${CONNECTIONS} connections, ${cores} cores (${processor}), ${date}`;
  const legend =
    `<rect class="s" x="${LABELS}" y="26" width="9" height="9"/><text class="v" x="${LABELS + 14}" y="34">SQLite</text>` +
    `<rect class="p" x="${LABELS + 70}" y="26" width="9" height="9"/><text class="v" x="${LABELS + 84}" y="34">PostgreSQL</text>` +
    `<text class="v" x="${LABELS + 170}" y="34">${escaped(versions)}</text>`;
  const height = TOP + names.length * ROW + 4;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img"><title>${escaped(title)}</title><style>${STYLE}</style>
<text x="8" y="16">${escaped(title)}</text>${legend}
${rows.join('\n')}
</svg>
`;
}
