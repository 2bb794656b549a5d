import { type Filled, type Mark, markStretch, positionInValue } from '../src/placeholders/mark.ts';

/** The placeholders of a text that is written as it is, all in one place. */
export function marksOf(text: string, place: string): Mark[] {
  const marks: Mark[] = [];
  const offsetOf = (index: number): number => index;
  const write = (value: string): string => value;
  markStretch({ text, offsetOf, placeOf: () => place, positionOf: positionInValue, write }, marks);
  return marks;
}

/** Each mark with the value at its place in the list; there must be as many of one as of the other. */
export function filled(marks: readonly Mark[], values: readonly string[]): Filled[] {
  if (marks.length !== values.length) throw new Error(`${marks.length} marks and ${values.length} values`);
  return marks.map((mark, index) => ({ mark, value: values[index] ?? '' }));
}
