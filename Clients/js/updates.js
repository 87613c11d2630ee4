// `for await (const { state, answer } of connection)`; client.js loads this module for the first such loop.
//
// A busy loop gets the newest state next, not each one between. Its answer then has no `changes`, which would not lead
// there: `bind` shows such a state as a whole. For other dialects no state is kept here, so a loop gets all of their
// answers, in order; but for counts the newest is enough.

export async function* updates(connection, options, failure) {
  const { dialect = 'keyed', onChange, onStatus, onClose } = options;
  const queue = [];
  let [isOver, fault, wake] = [connection.status === 'closed'];
  const put = (state, answer) => {
    if (queue.length && dialect === 'keyed') [queue.length, answer] = [0, withoutChanges(answer)];
    if (dialect === 'counts') queue.length = 0;
    queue.push({ state, answer });
    wake?.();
  };

  options.onChange = (...update) => {
    put(...update);
    onChange?.(...update);
  };
  options.onStatus = (status) => {
    if (status.status === 'stopped') end(status.problem);
    onStatus?.(status);
  };
  options.onClose = () => {
    end();
    onClose?.();
  };
  function end(problem) {
    isOver = true;
    fault = problem && failure(problem);
    wake?.();
  }

  const { state, revision, window } = connection;
  const answer = { session: options.session, from: revision, to: revision, dialect, ...window && { window } };
  if (state) put(options.shown?.() ?? state, answer);
  try {
    while (queue.length || !isOver) {
      if (queue.length) yield queue.shift();
      else await new Promise((resolve) => { wake = resolve; });
    }
    if (fault) throw fault;
  } finally {
    connection.close();
  }
}

function withoutChanges({ changes, told, ...answer }) {
  return answer;
}
