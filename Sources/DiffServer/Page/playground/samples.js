// Lists to begin with. `play` is what happens to each before the visitor does anything.

export const people = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Tony', 'Frances'];
export const titles = ['A letter from the coast', 'Twelve ways to wait', 'The quiet release', 'Bread, explained',
  'On naming things',
  'Small maps', 'What the tide left', 'An index of doors', 'Borrowed ladders', 'Winter timetable'];
const post = (id, title, by, likes, kind = 'post') => ({ id, kind, content: { title, by, likes } });
const beginnings = ['Notes on', 'Against', 'A year of', 'Letters about', 'What we know of', 'The last word on'];
const topics = ['tides', 'ladders', 'night trains', 'bread', 'clocks', 'small gardens'];
const older = Array.from({ length: 36 }, (_, at) => post(`o${at}`,
  `${beginnings[at % 6]} ${topics[(at + Math.floor(at / 6)) % 6]}`, people[at % 8], 11 + (at * 7919) % 997));
const card = (id, title, points) => ({ id, content: { title, points } });
const song = (id, title, artist, plays) => ({ id, kind: 'song', content: { title, artist, plays } });
const note = (id, title, ...items) => ({ id, content: { title }, ...items.length ? { items } : {} });

export const samples = {
  Feed: {
    state: () => ({ sections: [
      { id: 'new', content: { title: 'New' }, items: [
        post('p1', 'Notes on structure', 'Edsger', 128), post('p2', 'A compiler in a week', 'Grace', 94),
        post('ad1', 'Pencils, half price until Friday', 'Shop', 3, 'ad')] },
      { id: 'earlier', content: { title: 'Earlier' }, items: [
        post('p3', 'Trees that span networks', 'Radia', 310), post('p4', 'Sorting on a train', 'Tony', 57),
        post('p5', 'The first loop', 'Ada', 1843), ...older] }] }),
    play: [
      { op: 'move', items: ['p5'], before: 'p1' }, { op: 'delete', items: ['ad1'] },
      { op: 'insert', items: [post('p6', 'Small maps', 'Barbara', 12)], after: 'p2' },
      // One batch of these indexes would crash UIKit: the row to reload moves to the place of the deleted one.
      { op: 'update', items: [{ id: 'p2', content: { title: 'A compiler in a week', by: 'Grace', likes: 95 } }] }],
  },
  Board: {
    state: () => ({ sections: [
      { id: 'todo', content: { title: 'To do', layout: 'column' }, items: [
        card('c1', 'Write the release notes', 1), card('c2', 'Measure cold start', 3),
        card('c3', 'Ask for a review', 1)] },
      { id: 'doing', content: { title: 'Doing', layout: 'column' }, items: [card('c4', 'Page the archive', 5),
        card('c5', 'Fix the clock', 2)] },
      { id: 'done', content: { title: 'Done', layout: 'column' }, items: [card('c6', 'Choose a name', 8)] }] }),
    play: [
      { op: 'move', items: ['c2'], into: { section: 'doing' }, at: 'start' },
      { op: 'move', items: ['c5'], into: { section: 'done' } },
      { op: 'insert', items: [card('c7', 'Draw the map', 2)], into: { section: 'todo' } },
      { op: 'update', items: [{ id: 'c6', content: { title: 'Choose a short name', points: 8 } }] }],
  },
  Outline: {
    state: () => [
      note('trip', 'Trip to Lisbon', note('pack', 'Packing', note('shoes', 'Shoes'), note('book', 'One book')),
        note('train', 'Night train')),
      { ...note('talk', 'Talk', note('slides', 'Slides, fewer'), note('demo', 'Demo that cannot fail')),
        expanded: false },
      note('home', 'At home', note('plants', 'Water the plants'), note('bike', 'Repair the bicycle'))],
    play: [
      { op: 'expand', items: ['talk'] }, { op: 'move', items: ['train'], before: 'pack' },
      { op: 'move', items: ['bike'], before: 'plants' },
      { op: 'update', items: [{ id: 'book', content: { title: 'Two books' } }] }],
  },
  Chart: {
    state: () => [
      song('s1', 'Paper Boats', 'North Harbour', 90412), song('s2', 'Slow Elevator', 'The Margins', 88150),
      song('s3', 'Copper Wire', 'Ines Calder', 71904), song('s4', 'Half Past Never', 'Quiet Street', 66020),
      song('s5', 'Tin Roof', 'Old Weather', 51233), song('s6', 'Left Luggage', 'Marta Vo', 49871),
      song('s7', 'Blue Receipt', 'The Margins', 30077)],
    play: [
      { op: 'move', items: ['s4'], before: 's2' }, { op: 'delete', items: ['s7'] },
      { op: 'update',
        items: [{ id: 's4', content: { title: 'Half Past Never', artist: 'Quiet Street', plays: 88191 } }] },
      { op: 'insert', items: [song('s8', 'Salt Road', 'Ines Calder', 50950)], after: 's5' }],
  },
  '10,000 rows': {
    state: () => Array.from({ length: 10_000 }, (_, at) => (
      post(`row${at}`, `${titles[at % titles.length]}, no. ${at + 1}`, people[at % people.length], (at * 7919) % 997))),
    play: [
      { op: 'move', items: ['row9999'], before: 'row1' }, { op: 'delete', items: ['row4'] },
      { op: 'insert', items: [post('row-new', 'Between ten thousand others', 'Ada', 1)], after: 'row2' },
      { op: 'update', items: [{ id: 'row0', content: { title: `${titles[0]}, no. 1`, by: 'Ada', likes: 1 } }] }],
  },
};
