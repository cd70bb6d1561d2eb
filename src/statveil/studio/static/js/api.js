// Requests to the server of this page. Each carries the token, so no other page can send one.

import { sentence } from "./dom.js";

const token = document.querySelector('meta[name="statveil-token"]')?.content ?? "";

/** What the server refused, in one sentence, and the field and column that it is about. */
export class Refused extends Error {
  constructor(status, answer) {
    super(sentence(answer?.message) ?? `The server answered ${status}; look at the terminal in which the studio runs.`);
    this.status = status;
    this.field = answer?.field ?? null;
    this.column = answer?.column ?? null;
    this.study = answer?.study ?? null;
  }
}

const UNREACHED = { message: "The studio does not answer; is it still running in the terminal? Nothing here is lost." };

async function ask(method, path, body, signal) {
  const headers = { "X-Statveil-Token": token };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused(0, UNREACHED);
  }
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => null));
  return answer;
}

/** The answer to a GET, read as JSON. */
export async function get(path, signal) {
  return (await ask("GET", path, undefined, signal)).json();
}

/** The answer to another request, read as JSON. */
export async function send(method, path, body, signal) {
  return (await ask(method, path, body, signal)).json();
}

/** Sends a file as it is; `progress` hears the share that is sent, `signal` stops it. */
export function upload(path, file, progress, signal) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("X-Statveil-Token", token);
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => {
      let answer = null;
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // no JSON: the status has to do
      }
      if (request.status >= 200 && request.status < 300) done(answer);
      else failed(new Refused(request.status, answer));
    });
    request.addEventListener("error", () => failed(new Refused(0, UNREACHED)));
    request.addEventListener("abort", () => failed(new Refused(0, { message: "The upload was stopped; nothing was kept.", field: "upload" })));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** Lets the browser save a file, under the name that the server gives it: however large it is, this page never holds it. */
export async function download(path) {
  const link = document.createElement("a");
  link.href = (await send("POST", path, {})).address;
  link.download = "";
  link.click();
}
