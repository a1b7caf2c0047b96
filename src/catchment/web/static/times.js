// Times as people say them, exact on hover, in the zone of whoever looks.
// In the language of the page, as it is written where they are: 14:05 or 2:05 PM.
const [spokenHere] = document.documentElement.lang.split("-");
const language = navigator.languages.find((one) => one.split("-")[0] === spokenHere) ?? document.documentElement.lang;
const relative = new Intl.RelativeTimeFormat(language, { numeric: "always" });
const now = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "second");
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "medium" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];
const SECONDS_THAT_ARE_NOW = 45;

const atClock = new Intl.DateTimeFormat(language, { timeStyle: "short" });
const onDay = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });

// Of a moment today the hour says enough.
function atMoment(moment) {
  const isToday = moment.toDateString() === new Date().toDateString();
  return (isToday ? atClock : onDay).format(moment);
}

function spoken(moment, isDue) {
  const ahead = (moment - Date.now()) / 1000;
  const seconds = isDue ? Math.max(ahead, 0) : ahead;
  // What was a moment ago is not what is to be now.
  if (Math.abs(seconds) < SECONDS_THAT_ARE_NOW) return seconds < 0 ? document.body.dataset.justNow : now;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["minute", 60];
  // Of the past only whole units are over, and yesterday may be two days ago; what is to come is rounded.
  const count = seconds < 0 ? Math.min(Math.ceil(seconds / size), -1) : Math.round(seconds / size);
  // Chinese is set with a space between figures and characters, as everywhere else on the page.
  return relative.format(count, unit).replace(/(\d)(?=\p{Script=Han})/u, "$1 ");
}

// A zone is called what people call it; where they have no name for it, by how far it is from UTC.
function tellZones(within) {
  for (const element of within.querySelectorAll("[data-zone]")) {
    const named = new Intl.DateTimeFormat(language, { timeZone: element.title, timeZoneName: "longGeneric" });
    const name = named.formatToParts().find(({ type }) => type === "timeZoneName").value;
    if (element.title !== "UTC" && !/\d/.test(name)) element.textContent = name;
  }
}

export function tellTimes(within = document) {
  tellZones(within);
  for (const element of within.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.getAttribute("datetime"));
    // Within a sentence the moment itself is told.
    const words = "clock" in element.dataset ? atMoment(moment) : spoken(moment, "due" in element.dataset);
    if (element.textContent !== words) element.textContent = words;
    element.title ||= exact.format(moment);
  }
}

// The server counts days as they are here, from the next page on; what is live is told anew at once.
function tellZone() {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  document.cookie = `catchment_zone=${timeZone}; path=${document.body.dataset.root}; max-age=31536000; samesite=lax`;
}

export function startTimes() {
  tellZone();
  tellTimes();
  setInterval(tellTimes, 10000);
}
