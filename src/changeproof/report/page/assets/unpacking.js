"use strict";

// What was compressed with gzip, as text, at once: a print does not wait for a stream.
page.unzipped = (letters) => {
  const text = atob(letters);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
  return new TextDecoder().decode(page.inflated(bytes));
};

// Lengths and distances of repeated parts: what a symbol begins at, and how many bits follow.
page.repeats = (symbols, grow, first) => {
  const [starts, extra] = [[], []];
  let start = first;
  for (let symbol = 0; symbol < symbols; symbol++) {
    const bits = Math.max(0, Math.floor(symbol / grow) - 1);
    starts.push(start);
    extra.push(bits);
    start += 2 ** bits;
  }
  return { starts, extra };
};
page.LENGTHS = page.repeats(28, 4, 3);
page.LENGTHS.starts.push(258);
page.LENGTHS.extra.push(0);
page.DISTANCES = page.repeats(30, 2, 1);
page.CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// A table from the next bits to a symbol and how many bits it took (RFC 1951, 3.2.2).
page.codes = (lengths) => {
  const longest = Math.max(1, ...lengths);
  const entries = new Uint16Array(2 ** longest);
  let code = 0;
  for (let length = 1; length <= longest; length++, code *= 2) {
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      if (lengths[symbol] !== length) continue;
      let mirrored = 0;
      for (let bit = 0; bit < length; bit++) mirrored |= ((code >> bit) & 1) << (length - 1 - bit);
      for (let place = mirrored; place < entries.length; place += 2 ** length) {
        entries[place] = (symbol << 4) | length;
      }
      code++;
    }
  }
  return { entries, longest, mask: entries.length - 1 };
};
page.FIXED = [page.codes(Array.from({ length: 288 }, (_, symbol) =>
  (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8))), page.codes(Array(30).fill(5))];

// The page's own gzip: a header of ten bytes, blocks, a checksum and the size.
page.inflated = (bytes) => {
  const size = new DataView(bytes.buffer).getUint32(bytes.length - 4, true);
  const result = new Uint8Array(size);
  let [from, to, held, count] = [10, 0, 0, 0];
  const fetch = (wanted) => {
    for (; count < wanted; count += 8) held |= bytes[from++] << count;
  };
  const drop = (used) => { held >>>= used; count -= used; };
  const bits = (wanted) => {
    fetch(wanted);
    const value = held & ((1 << wanted) - 1);
    drop(wanted);
    return value;
  };
  const symbol = ({ entries, longest, mask }) => {
    fetch(longest);
    const entry = entries[held & mask];
    drop(entry & 15);
    return entry >> 4;
  };
  const stored = () => {
    drop(count % 8);
    const length = bits(16);
    from += 2 - count / 8;
    [held, count] = [0, 0];
    result.set(bytes.subarray(from, from + length), to);
    from += length;
    to += length;
  };
  const described = () => {
    const [literals, distances, given] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
    const own = Array(19).fill(0);
    for (let place = 0; place < given; place++) own[page.CODE_ORDER[place]] = bits(3);
    const [table, lengths] = [page.codes(own), []];
    while (lengths.length < literals + distances) {
      const next = symbol(table);
      if (next < 16) lengths.push(next);
      else {
        const again = next === 16 ? bits(2) + 3 : next === 17 ? bits(3) + 3 : bits(7) + 11;
        lengths.push(...Array(again).fill(next === 16 ? lengths.at(-1) : 0));
      }
    }
    return [page.codes(lengths.slice(0, literals)), page.codes(lengths.slice(literals))];
  };
  const repeated = ({ starts, extra }, place) => starts[place] + bits(extra[place]);
  const coded = ([literals, distances]) => {
    for (let next = symbol(literals); next !== 256; next = symbol(literals)) {
      if (next < 256) result[to++] = next;
      else {
        const length = repeated(page.LENGTHS, next - 257);
        const back = to - repeated(page.DISTANCES, symbol(distances));
        for (let place = 0; place < length; place++) result[to++] = result[back + place];
      }
    }
  };
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) stored();
    else coded(kind === 1 ? page.FIXED : described());
  }
  return result;
};
