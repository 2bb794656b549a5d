import { SaxesParser } from 'saxes';

/** What a parser that we did not write makes of it: names, attributes and text, in order; comments are left out. */
export function readXml(text: string): string[] {
  const seen: string[] = [];
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => {
    throw error;
  });
  const onText = (value: string): void => {
    if (seen.at(-1)?.startsWith('text ') === true) seen[seen.length - 1] += value;
    else if (value !== '') seen.push(`text ${value}`);
  };
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('opentag', ({ name, attributes }) => {
    seen.push(`open ${name}`);
    for (const attribute of Object.values(attributes)) seen.push(`${attribute.name}=${attribute.value}`);
  });
  parser.on('closetag', ({ name }) => seen.push(`close ${name}`));
  parser.write(text).close();
  return seen;
}
