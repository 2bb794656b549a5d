import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withSection, withSectionsOf } from './sections.ts';

const PAGE = '# Results\n\nFigures.\n';

test('a section is added, then replaced, and nothing else changes', () => {
  const both = withSection(withSection(PAGE, 'chaos', '## One\n\n$1'), 'other', '## Other');
  assert.ok(both.startsWith(PAGE));
  const again = withSection(both, 'chaos', '## Two $&');
  assert.equal(
    again,
    both.replace('## One\n\n$1', () => '## Two $&'),
  );
  assert.match(again, /## Two \$&\n<!-- end: chaos -->\n\n<!-- begin: other -->\n## Other\n/);
});

test('a page that is written again has its other sections unchanged', () => {
  const old = withSection(withSection('# Old\n', 'chaos', '## One'), 'other', '## Other');
  const page = withSectionsOf(PAGE, old);
  assert.ok(page.startsWith(PAGE));
  assert.ok(!page.includes('# Old'));
  assert.equal(withSectionsOf(PAGE, page), page);
  for (const title of ['## One', '## Other']) assert.equal(page.split(title).length, 2);
  assert.equal(withSectionsOf(PAGE, '# Old\n'), PAGE);
});
