// A state that is replaced, never changed, and those who watch it.

export function makeStore(state) {
  const watchers = [];
  let telling = false;
  let again = false;
  // A watcher that takes a focused element away changes the state in the midst of it: all are told once more.
  function tell() {
    telling = true;
    try {
      do {
        again = false;
        for (const watcher of watchers) watcher(state);
      } while (again);
    } finally {
      telling = false;
    }
  }
  return {
    get state() {
      return state;
    },
    set(changes) {
      state = { ...state, ...changes };
      if (telling) again = true;
      else tell();
    },
    watch(watcher) {
      watchers.push(watcher);
      watcher(state);
    },
  };
}
