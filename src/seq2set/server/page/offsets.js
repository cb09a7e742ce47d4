// Places in a text: the server counts Unicode code points, JavaScript counts UTF-16 units.

/** Return, for each code point's number and for the end, its place in the string. */
export function unitOffsets(text) {
  const places = [];
  let unit = 0;
  for (const character of text) {
    places.push(unit);
    unit += character.length;
  }
  places.push(unit);
  return places;
}
