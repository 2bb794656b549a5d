// The pages are complete without this script. It adds the search, the choice of the scheme, an outline and copying.

/** Sections that a search shows at most. */
const MAX_RESULTS = 30;
const EXCERPT_CHARACTERS = 160;
const COPIED_MS = 1500;

const root = document.body.dataset.root;
const find = (selector) => document.querySelector(selector);

function addScheme() {
  const button = find('.scheme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (document.documentElement.dataset.scheme ?? (dark.matches ? 'dark' : 'light')) === 'dark';
  const label = () => {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', isDark() ? 'Use light colors' : 'Use dark colors');
  };
  button.addEventListener('click', () => {
    const scheme = isDark() ? 'light' : 'dark';
    document.documentElement.dataset.scheme = scheme;
    try {
      localStorage.setItem('scheme', scheme);
    } catch {
      // The choice applies to this page alone.
    }
    label();
  });
  dark.addEventListener('change', label);
  label();
  button.hidden = false;
}

function addMenu() {
  const button = find('.menu');
  const pages = find('.pages');
  if (button === null || pages === null) return;
  button.hidden = false;
  pages.classList.add('folded');
  button.addEventListener('click', () => {
    const isOpen = button.getAttribute('aria-expanded') === 'true';
    button.setAttribute('aria-expanded', String(!isOpen));
    pages.classList.toggle('folded', isOpen);
  });
  markPresent(pages);
  addEventListener('hashchange', () => markPresent(pages));
}

/** Marks the section of the address where the navigation links to sections of this page. */
function markPresent(pages) {
  for (const link of pages.querySelectorAll('[aria-current=location]')) link.removeAttribute('aria-current');
  if (location.hash !== '')
    [...pages.querySelectorAll('a')]
      .find(({ href }) => href === location.href)
      ?.setAttribute('aria-current', 'location');
  const present = pages.querySelector('[aria-current]');
  // The page itself stays where it is.
  if (present !== null) pages.scrollTop = present.offsetTop - pages.offsetTop - pages.clientHeight / 2;
}

function addOutline() {
  const headings = [...document.querySelectorAll('main h2[id], main h3[id]')];
  if (headings.length < 3) return;
  const outline = find('.outline');
  const title = document.createElement('h2');
  title.textContent = 'On this page';
  const list = document.createElement('ul');
  for (const heading of headings) {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = `#${heading.id}`;
    link.textContent = heading.firstChild === null ? heading.id : textOf(heading);
    item.className = heading.localName;
    item.append(link);
    list.append(item);
  }
  outline.append(title, list);
  outline.hidden = false;
}

/** Returns the text of a heading without its link. */
function textOf(heading) {
  const copy = heading.cloneNode(true);
  copy.querySelector('.anchor')?.remove();
  return copy.textContent.trim();
}

/** A part that scrolls sideways has to be reached by the keyboard. */
function makeScrollable() {
  for (const part of document.querySelectorAll('main pre, main .table')) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute('tabindex');
  }
}

function addCopying() {
  // Browsers give the clipboard to pages of a secure origin only.
  if (navigator.clipboard === undefined) return;
  for (const block of document.querySelectorAll('main pre')) {
    const frame = document.createElement('div');
    frame.className = 'code';
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, COPIED_MS);
    });
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

const load = (name) =>
  new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${root}assets/${name}`;
    script.addEventListener('load', resolve);
    script.addEventListener('error', reject);
    document.head.append(script);
  });

let index;

/** Loads the sections of all pages and builds the index, at the first search of a page. */
function openIndex() {
  index ??= Promise.all([load('minisearch.js'), load('sections.js')]).then(() => {
    const { MiniSearch, cardvaultSections: sections } = globalThis;
    const search = new MiniSearch({
      idField: 'id',
      fields: ['page', 'heading', 'text'],
      searchOptions: { boost: { page: 2, heading: 4 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
    });
    search.addAll(sections.map((section, id) => ({ id, ...section })));
    return { search, sections };
  });
  return index;
}

/** Returns the text around the first of the terms that it contains. */
function excerptOf(text, terms) {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((at) => at !== -1);
  const start = Math.max(0, Math.min(...places, text.length) - EXCERPT_CHARACTERS / 4);
  const begin = places.length === 0 ? 0 : start;
  const excerpt = text.slice(begin, begin + EXCERPT_CHARACTERS);
  return `${begin > 0 ? '… ' : ''}${excerpt}${begin + EXCERPT_CHARACTERS < text.length ? ' …' : ''}`;
}

function toItem(section, terms) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = `${root}${section.href}`;
  const title = document.createElement('strong');
  title.textContent = section.heading === '' ? section.page : `${section.page}: ${section.heading}`;
  const excerpt = document.createElement('span');
  excerpt.textContent = excerptOf(section.text, terms);
  link.append(title, excerpt);
  item.append(link);
  return item;
}

function addSearch() {
  const input = find('#search');
  const results = find('#results');
  const status = results.querySelector('[role=status]');
  const list = results.querySelector('ol');
  const close = () => {
    results.hidden = true;
  };
  const show = async () => {
    const query = input.value.trim();
    if (query === '') return close();
    const { search, sections } = await openIndex();
    // The reader may have typed on while the index was built.
    if (query !== input.value.trim()) return undefined;
    const found = search.search(query);
    const shown = found.slice(0, MAX_RESULTS);
    status.textContent =
      found.length === 0 ? 'No section contains these words.' : `${found.length} sections, the best first`;
    list.replaceChildren(...shown.map(({ id, terms }) => toItem(sections[id], terms)));
    results.hidden = false;
    return undefined;
  };
  input.addEventListener('focus', openIndex, { once: true });
  input.addEventListener('input', show);
  document.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    const isSearching = event.target === input || at !== -1;
    if (event.key === '/' && !isSearching && event.target.localName !== 'input') input.focus();
    else if (event.key === 'Escape' && isSearching) {
      close();
      input.focus();
    } else if (event.key === 'ArrowDown' && isSearching) (links[at + 1] ?? links[at])?.focus();
    else if (event.key === 'ArrowUp' && at !== -1) (links[at - 1] ?? input).focus();
    else if (event.key === 'Enter' && event.target === input) links[0]?.click();
    else return;
    event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    if (!find('.search').contains(event.target)) close();
    else if (event.target.closest('.results a') !== null) close();
  });
  input.hidden = false;
}

addScheme();
addMenu();
addOutline();
addCopying();
makeScrollable();
addEventListener('resize', makeScrollable);
addSearch();
