import { bind, connect } from 'diffserver-client';
import { useList } from 'diffserver-client/vue';

const rows = bind<{ name: string }>(document.body, {
  render(row, element = document.createElement('li')) {
    element.textContent = row.content?.name ?? '';
    return element;
  },
  limit: 100,
});
connect<{ name: string }>(new URL(location.href), { session: 'a', signal: new AbortController().signal, onChange(state, answer) { rows.show(state, answer.changes); } });
// @ts-expect-error: text is no element
bind(document.body, { render: () => 'text' });
// @ts-expect-error: an element, not its id
bind('list', { render() {} });
const shown = useList<{ name: string }>('', { session: 'a' });
shown.value.rows[0].content?.name.length;
// @ts-expect-error: it is only read
shown.value = shown.value;
