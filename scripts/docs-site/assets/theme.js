// Runs before the page is drawn, so that a chosen scheme does not flash.
try {
  const scheme = localStorage.getItem('scheme');
  if (scheme === 'light' || scheme === 'dark') document.documentElement.dataset.scheme = scheme;
} catch {
  // Without storage the scheme of the system applies.
}
