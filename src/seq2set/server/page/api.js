// The server's API: requests out, answers or problems in words back.

import { askForKey, keyHeaders } from "./key.js";
import { Problem, sentence } from "./problem.js";

const ADVICE = {
  400: "Check what was sent.",
  404: "",
  408: "The connection is slow; try again.",
  413: "Take a shorter text, or split the file.",
  415: "Choose a CSV, TSV or JSON lines file.",
  422: "Correct it and try again.",
  429: "Many people are asking at the moment; wait a little and try again.",
  500: "Try again; if it stays so, tell whoever runs the server.",
  503: "Wait a little and try again.",
};
const UNREACHABLE = new Problem(
  "The server cannot be reached.",
  "See whether “seq2set serve” is still running, then try again.",
);

/** Labels for one text: the best so many of them, given or not, each with the words it rests on. */
export async function predict(text, candidates, signal) {
  const answer = await send("v1/predict", { ...json({ text, candidates, explain: true }), signal });
  return (await answer.json()).predictions[0];
}

/** Labels of the model that match; more than 1,000 come in several answers. */
export async function labels(query, limit, offset = 0, signal = undefined) {
  const asked = new URLSearchParams({ query, limit, offset });
  return (await send(`v1/labels?${asked}`, { signal })).json();
}

export const model = async () => (await send("v1/model")).json();

export const feedback = async (said) => (await send("v1/feedback", json(said))).json();

/** Send a file; the answer's body brings the results as they are computed. */
export function batch(file, type, options, signal) {
  const headers = { "Content-Type": type };
  return send(`v1/batch?${new URLSearchParams(options)}`, { method: "POST", body: file, headers, signal });
}

function json(body) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

async function send(address, options = {}) {
  const answer = await reached(address, { ...options, headers: { ...options.headers, ...keyHeaders() } });
  if (answer.status === 401) {
    await askForKey();
    return send(address, options);
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function reached(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : UNREACHABLE;
  }
}

async function refusal(answer) {
  const said = await answer.json().catch(() => null);
  const message = said?.error?.message ?? `the server answered with status ${answer.status}`;
  return new Problem(sentence(message), ADVICE[answer.status] ?? "");
}
