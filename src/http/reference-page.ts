import type { JsonSchema } from './fields.ts';
import type { OpenApi, OpenApiContent, OpenApiOperation } from './openapi.ts';

/** Renders the reference as one page of HTML without any script, from the OpenAPI document. Its first call goes to the sandbox. */
export function renderReferencePage(document: OpenApi, sandboxUrl: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const sections = document.tags.map(({ name, description }) => {
    const tagged = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<section><h2 id="${anchor(name)}">${escapeHtml(name)}</h2><p>${escapeHtml(description)}</p>${tagged.map(operationSection).join('')}</section>`;
  });
  const links = document.tags.map(({ name }) => {
    const tagged = operations.filter(({ operation }) => operation.tags.includes(name));
    const items = tagged.map(
      ({ method, operation }) =>
        `<li><a href="#${operation.operationId}">${escapeHtml(operation.summary)} <small>${method}</small></a></li>`,
    );
    return `<li><a href="#${anchor(name)}">${escapeHtml(name)}</a><ul>${items.join('')}</ul></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(document.info.title)} reference</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<nav aria-label="Contents"><p class="brand">${escapeHtml(document.info.title)} <small>${escapeHtml(document.info.version)}</small></p><ul>${links.join('')}</ul>
<p><a href="/openapi.json">OpenAPI 3.1 document</a></p></nav>
<main>
<h1>Interface reference</h1>
<p>${prose(document.info.description)}</p>
<h2 id="authentication">Authentication</h2>
<p>Send an API key in the header <code>x-api-key</code>, to the proxy in <code>ft-access-key</code>, over TLS 1.2 or newer, from an address on the key's allow-list. Every refusal is the same 403; the cause is in the operator's audit log.</p>
<pre><code>curl --cacert ./data/tls/ca.pem ${escapeHtml(sandboxUrl)}/v1/account -H "x-api-key: $KEY"</code></pre>
${sections.join('')}
</main>
</body>
</html>
`;
}

function operationSection({
  path,
  method,
  operation,
}: {
  path: string;
  method: string;
  operation: OpenApiOperation;
}): string {
  const { requestBody, responses, parameters } = operation;
  const rows = parameters.map(({ name, in: where, required, description }) => row(name, where, required, description));
  const success = responses['200'];
  const failures = Object.entries(responses).filter(([status]) => status !== '200');
  return `<article id="${operation.operationId}">
<h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code></h3>
<p class="summary">${escapeHtml(operation.summary)}</p>
<p>${prose(operation.description)}</p>
<p>Permission: <code>${escapeHtml(operation['x-permission'])}</code></p>
${rows.length === 0 ? '' : `<h4>Parameters</h4>${table(rows)}`}
${requestBody === undefined ? '' : `<h4>Request</h4>${members(requestBody.content)}${example(requestBody.content)}`}
${success === undefined ? '' : `<h4>Response</h4>${members(success.content)}${example(success.content)}`}
<h4>Failures</h4><dl>${failures.map(([status, { description }]) => `<dt>${status}</dt><dd>${prose(description)}</dd>`).join('')}</dl>
</article>`;
}

const table = (rows: readonly string[]): string =>
  `<table><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Required</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;

const row = (name: string, type: string, required: boolean, description: string): string =>
  `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(type)}</td><td>${required ? 'yes' : 'no'}</td><td>${prose(description)}</td></tr>`;

const members = (content: OpenApiContent): string =>
  Object.entries(content)
    .map(([media, { schema }]) =>
      schema['type'] === 'string' ? textBody(media, schema) : table(memberRows(schema, '')),
    )
    .join('');

const textBody = (media: string, { description }: JsonSchema): string =>
  `<p><code>${escapeHtml(media)}</code>: ${prose(String(description ?? ''))}</p>`;

function memberRows(schema: JsonSchema, prefix: string): string[] {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  const required = (schema['required'] ?? []) as string[];
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const items = member['items'] as JsonSchema | undefined;
    const inner = items === undefined ? memberRows(member, `${path}.`) : memberRows(items, `${path}[].`);
    return [row(path, typeOf(member), required.includes(name), String(member['description'] ?? '')), ...inner];
  });
}

function typeOf(schema: JsonSchema): string {
  const {
    type,
    oneOf,
    items,
    enum: words,
  } = schema as { type?: string | string[]; oneOf?: JsonSchema[]; items?: JsonSchema; enum?: unknown[] };
  if (oneOf !== undefined) return oneOf.map(typeOf).join(' or ');
  if (items !== undefined) return `array of ${typeOf(items)}`;
  const name = Array.isArray(type) ? type.join(' or ') : (type ?? 'any');
  return words === undefined ? name : `${name}: ${words.join(', ')}`;
}

/** The same for every media type, so it is shown once. */
const example = (content: OpenApiContent): string =>
  Object.values(content)
    .slice(0, 1)
    .map(({ example: value }) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2)))
    .map((text) => `<pre><code>${escapeHtml(text)}</code></pre>`)
    .join('');

const anchor = (name: string): string => name.toLowerCase().replace(/[^a-z]+/g, '-');

const prose = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);

export const REFERENCE_STYLE = `
:root { color-scheme: light dark; --ink: #16202c; --paper: #fff; --soft: #f3f6f9; --line: #d7dee6; --accent: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4eaf1; --paper: #11161d; --soft: #1a222c; --line: #303b48; --accent: #7ab8ff; } }
* { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); color: var(--ink); background: var(--paper); font: 16px/1.55 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem; border-right: 1px solid var(--line); background: var(--soft); }
nav ul { list-style: none; padding: 0; } nav ul ul { padding-left: .8rem; font-size: .93rem; }
.brand { font-weight: 700; font-size: 1.2rem; margin: 0; }
main { padding: 2rem clamp(1rem, 4vw, 4rem); max-width: 64rem; }
a { color: var(--accent); text-decoration: none; } a:hover, a:focus-visible { text-decoration: underline; }
h1 { margin-top: 0; } h2 { margin-top: 3rem; } article { border-top: 1px solid var(--line); padding: 1.5rem 0; }
.summary { font-size: 1.1rem; font-weight: 600; margin: 0; }
.method { font-size: .8rem; font-weight: 700; padding: .15rem .5rem; border-radius: .3rem; color: #fff; background: #2d6a4f; }
.method.get { background: #1d5fa8; } .method.delete { background: #a61e2b; }
code { font-family: ui-monospace, monospace; font-size: .92em; overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .4rem; padding: 1rem; overflow: auto; }
td:first-child code { white-space: nowrap; }
table { display: block; overflow-x: auto; border-collapse: collapse; width: 100%; font-size: .93rem; } th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: 4rem 1fr; gap: .3rem 1rem; } dt { font-weight: 700; } dd { margin: 0; }
@media (max-width: 48rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; } }
`;
