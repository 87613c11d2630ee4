// Two states in an address: JSON, deflated, in base64url. None of it is sent to a server until somebody opens it.

const most = 60_000; // characters, which browsers and most chat programs take

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

const written = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  .replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
const read = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')),
  (character) => character.charCodeAt(0));

/** The text after `#link:`, or `null` if it would be too long. */
export async function packed(from, to) {
  const plain = new TextEncoder().encode(JSON.stringify([from, to]));
  if (plain.length > 20 * most) return null;
  const small = await through(plain, new CompressionStream('deflate-raw'));
  const text = small.length < plain.length ? `z${written(small)}` : `j${written(plain)}`;
  return text.length > most ? null : text;
}

/** Both states again; throws if the address is damaged. */
export async function unpacked(text) {
  const bytes = read(text.slice(1));
  const plain = text[0] === 'z' ? await through(bytes, new DecompressionStream('deflate-raw')) : bytes;
  const [from, to] = JSON.parse(new TextDecoder().decode(plain));
  return { from, to };
}
