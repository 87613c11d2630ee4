// A network before a server that cuts connections at random, while told to.

import { connect, createServer } from 'node:net';

export async function cutting(port, pick) {
  const open = new Set();
  const network = { isFaulty: false, cuts: 0, most: 0 };
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const cut = () => { near.destroy(); far.destroy(); open.delete(cut); };
    open.add(cut);
    network.most = Math.max(network.most, open.size);
    for (const socket of [near, far]) socket.on('error', cut).on('close', cut);
    near.pipe(far);
    far.on('data', (bytes) => {
      if (!network.isFaulty || pick(3)) return near.write(bytes);
      network.cuts += 1;
      near.write(bytes.subarray(0, pick(bytes.length)), cut); // amid an answer
    });
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  network.url = `http://127.0.0.1:${server.address().port}`;
  network.close = () => { server.close(); for (const cut of [...open]) cut(); };
  return network;
}
