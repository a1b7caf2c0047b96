// Keeps a page up to date: the server sends those of its parts that changed, and which rows its lists now have.
import { tellTimes } from "./times.js";

const LISTEN_AGAIN_MILLISECONDS = 3000;
let events = null;

function element(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content.firstElementChild;
}

function isInUse(node) {
  const active = document.activeElement;
  return node.contains(active) && active.matches("input:not([type=checkbox]), textarea, select");
}

// What it says, whatever the clock makes of its times.
function saidBy(node) {
  const copy = node.cloneNode(true);
  for (const time of copy.querySelectorAll("time")) time.textContent = time.dateTime;
  return copy.textContent;
}

// What moved is marked: the cells that say something else, or the rows that are new where there are more or fewer.
const CELLS = "td, th, dd, .tiles li";
const ROWS = "tr, li, dd";

function markChanges(old, fresh) {
  const [before, after] = [old, fresh].map((node) => [...node.querySelectorAll(CELLS)]);
  if (after.length && before.length === after.length) {
    after.forEach((cell, at) => cell.classList.toggle("fresh", saidBy(cell) !== saidBy(before[at])));
    return;
  }
  const known = new Set([...old.querySelectorAll(ROWS)].map(saidBy));
  const rows = [...fresh.querySelectorAll(ROWS)];
  for (const row of rows) row.classList.toggle("fresh", !known.has(saidBy(row)));
  if (!rows.length && saidBy(old) !== saidBy(fresh)) fresh.classList.add("fresh");
}

// What of a page told anew stands where this stood: an input may say something else, a button do the opposite.
export function sameAs(old, within) {
  const hooks = (one) => Object.keys(one.dataset).join();
  const alike = [...within.querySelectorAll(old.localName)].filter(
    (one) => one.type !== "hidden" && one.name === old.name && one.href === old.href && hooks(one) === hooks(old),
  );
  if (!["button", "checkbox", "submit"].includes(old.type)) return alike[0];
  const row = (one) => one.value.split(" ").at(-1);
  return alike.find((one) => one.value === old.value) ?? alike.find((one) => hooks(one) && row(one) === row(old));
}

// What was opened stays open.
export function keepOpen(old, fresh) {
  const opened = new Set([...old.querySelectorAll("details[open] > summary")].map(saidBy));
  for (const summary of fresh.querySelectorAll("summary")) if (opened.has(saidBy(summary))) summary.parentNode.open = true;
}

function replace(id, html) {
  const old = document.getElementById(id);
  // Nobody's typing is taken away.
  if (!old || isInUse(old)) return;
  const fresh = element(html);
  const chosen = old.querySelector("input[type=checkbox][name=id]")?.checked;
  if (chosen) fresh.querySelector("input[type=checkbox][name=id]").checked = true;
  const focused = old.contains(document.activeElement) && document.activeElement;
  if (old.classList.contains("here")) fresh.classList.add("here");
  markChanges(old, fresh);
  keepOpen(old, fresh);
  old.replaceWith(fresh);
  if (focused) (sameAs(focused, fresh) ?? fresh.querySelector("[data-open], a, button"))?.focus({ preventScroll: true });
}

function arrange(listId, ids, changed) {
  const list = document.getElementById(listId);
  if (!list) return;
  const rows = ids.map((id) => {
    const known = document.getElementById(id);
    if (known || !changed[id]) return known;
    const fresh = element(changed[id]);
    fresh.classList.add("fresh");
    return fresh;
  });
  const present = rows.filter(Boolean);
  const isSame = present.length === list.children.length && present.every((row, at) => row === list.children[at]);
  if (!isSame) list.replaceChildren(...present);
}

function show({ changed = {}, lists = {} }) {
  for (const [id, html] of Object.entries(changed)) replace(id, html);
  for (const [id, ids] of Object.entries(lists)) arrange(id, ids, changed);
  tellTimes();
}

function say(state) {
  const light = document.getElementById("live");
  if (!light) return;
  light.className = state;
  light.textContent = light.dataset[state];
}

function listen() {
  const { liveOf, seen, root } = document.body.dataset;
  const query = new URLSearchParams({ page: liveOf, seen: seen ?? "", lang: document.documentElement.lang });
  const stream = new EventSource(`${root}api/events?${query}`);
  events = stream;
  events.onopen = () => say("live");
  events.onmessage = (event) => show(JSON.parse(event.data));
  events.onerror = () => {
    say("reconnecting");
    // What was missed meanwhile is sent whole when the stream begins again.
    document.body.dataset.seen = "";
    stream.close();
    setTimeout(() => events === stream && listen(), LISTEN_AGAIN_MILLISECONDS);
  };
}

export function listenAgain() {
  events?.close();
  events = null;
  if (document.body.dataset.liveOf) listen();
}

export function startLive() {
  listenAgain();
  addEventListener("pagehide", () => events?.close());
}
