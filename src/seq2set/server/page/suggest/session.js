// What one text's labelling holds, and what follows from it. A verdict is "yes" or "no"; labels without one are
// undecided. Nothing here touches the page.

export const UNREAD = {
  text: "",
  answer: null, // the server's: candidates, the best first, each with label, score, given, evidence, against
  threshold: null, // a score; null leaves the choice to the model
  verdicts: new Map(),
  pointed: null, // the label under the pointer
  focused: null,
  pinned: null,
};

/** The label whose words are lit. */
export const litLabel = (state) => state.pointed ?? state.focused ?? state.pinned;

const isSuggested = (state, one) => (state.threshold === null ? one.given : one.score >= state.threshold);

/** Whether the model knows no word of the text. */
export const isStrange = (state) => state.answer?.note === "no known words";

/** The labels that reach the threshold, the likeliest first. */
export const suggested = (state) =>
  (state.answer?.candidates ?? []).filter((one) => isSuggested(state, one)).sort((one, other) => other.score - one.score);

/** The labels that a person put in: known to the model or not, and not suggested anyway. */
export function added(state) {
  const already = new Set(suggested(state).map((one) => one.label));
  const candidates = new Map((state.answer?.candidates ?? []).map((one) => [one.label, one]));
  return [...state.verdicts]
    .filter(([label, verdict]) => verdict === "yes" && !already.has(label))
    .map(([label]) => candidates.get(label) ?? { label, evidence: [], against: [] });
}

/** The best of the other labels. */
export function considered(state, most = 12) {
  const shown = new Set([...suggested(state), ...added(state)].map((one) => one.label));
  return (state.answer?.candidates ?? []).filter((one) => !shown.has(one.label)).slice(0, most);
}

/** Labels by what was said of them. */
export function sorted(state) {
  const all = suggested(state).map((one) => one.label);
  const said = (verdict) => all.filter((label) => state.verdicts.get(label) === verdict);
  return {
    accepted: said("yes"),
    rejected: said("no"),
    added: added(state).map((one) => one.label),
    undecided: said(undefined),
  };
}

/** The labels that stay, each with how it came to stay. */
export function kept(state) {
  const stays = suggested(state).filter((one) => state.verdicts.get(one.label) !== "no");
  const status = (one) => (state.verdicts.has(one.label) ? "accepted" : "suggested");
  return [
    ...stays.map((one) => ({ ...one, status: status(one) })),
    ...added(state).map((one) => ({ ...one, status: "added" })),
  ];
}

/** Everything that is known of a label that is shown. */
export function known(state, label) {
  return state.answer?.candidates.find((one) => one.label === label) ?? { label, evidence: [], against: [] };
}

/** The verdicts with one more; the same one twice takes it back. */
export function judged(verdicts, label, verdict) {
  const changed = new Map(verdicts);
  if (changed.get(label) === verdict) changed.delete(label);
  else changed.set(label, verdict);
  return changed;
}
