// Keeps the dashboard up to date: fills the shapes of the page with the boards that the server sends.
"use strict";

const language = document.documentElement.lang;
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const LISTEN_AGAIN_MILLISECONDS = 3000;
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function ago(moment) {
  const seconds = (new Date(moment) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return relative.format(Math.round(seconds / size), unit);
}

function tellTime(element) {
  const moment = element.getAttribute("datetime");
  element.textContent = moment ? ago(moment) : element.dataset.otherwise;
  if (moment) element.title = new Date(moment).toLocaleString(language);
}

function setAttribute(element, name, value) {
  if (value) element.setAttribute(name, value);
  else element.removeAttribute(name);
}

function fill(node, values) {
  for (const element of [node, ...node.querySelectorAll("*")]) {
    const { text, when, moodOf, hrefOf, titleOf } = element.dataset;
    if (text) element.textContent = values[text] ?? "";
    if (moodOf) element.dataset.mood = values[moodOf];
    if (hrefOf) setAttribute(element, "href", values[hrefOf]);
    if (titleOf) setAttribute(element, "title", values[titleOf]);
    if (when) {
      setAttribute(element, "datetime", values[when]);
      tellTime(element);
    }
  }
}

function show(name, rows) {
  const list = document.querySelector(`[data-list="${name}"]`);
  const shape = document.querySelector(`template[data-shape="${name}"]`).content.firstElementChild;
  const known = new Map([...list.children].map((node) => [node.dataset.key, node]));
  const nodes = rows.map((row) => {
    const key = String(row.key ?? row.id);
    const node = known.get(key) ?? shape.cloneNode(true);
    const content = JSON.stringify(row);
    if (node.content !== content) {
      node.dataset.key = key;
      fill(node, row);
      // What was there when the page was made is not news.
      node.classList.toggle("fresh", node.content !== undefined || !known.has(key));
      node.content = content;
    }
    return node;
  });
  list.replaceChildren(...nodes);
  const empty = document.querySelector(`[data-empty="${name}"]`);
  if (empty) empty.hidden = rows.length > 0;
}

function showBoard(board) {
  for (const name of ["tiles", "alerts", "sources", "items"]) show(name, board[name]);
  const more = document.getElementById("more");
  more.hidden = board.hidden === 0;
  fill(more, board);
}

let events;

function listen() {
  const light = document.getElementById("live");
  const say = (state) => {
    light.className = state;
    light.textContent = light.dataset[state];
  };
  events = new EventSource(`/api/events?lang=${language}`);
  events.onopen = () => say("live");
  events.onerror = () => {
    say("reconnecting");
    // A browser comes back by itself when a connection breaks, but not after an answer such as a proxy's 502.
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, LISTEN_AGAIN_MILLISECONDS);
  };
  events.onmessage = (event) => showBoard(JSON.parse(event.data));
}

const tellTimes = () => document.querySelectorAll("main time").forEach(tellTime);
tellTimes();
setInterval(tellTimes, 5000);
listen();
addEventListener("pagehide", () => events.close());
